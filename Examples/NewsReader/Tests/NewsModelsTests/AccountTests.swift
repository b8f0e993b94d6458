import DataService
import DataServiceTesting
import NewsModels
import Testing

@Suite("The accounts of a news reader", .timeLimit(.minutes(1))) @MainActor struct AccountTests {
  @Test func `who is signed in is found at the next launch`() async throws {
    let reader = try Reader()
    await reader.model.start()
    #expect(reader.model.isLogin)
    try await reader.signIn("ada")
    #expect(reader.model.list?.account == "ada")
    let relaunched = try reader.relaunched()
    await relaunched.start()
    #expect(relaunched.list?.account == "ada")
    await reader.test.close()
  }

  @Test func `a sign-in that fails says why, and the login stays`() async throws {
    let reader = try Reader()
    await reader.model.start()
    reader.answer("sign-in", with: .failure(.offline, "no network"))
    await reader.model.signIn("ada")
    #expect(reader.model.isLogin && reader.model.notice == "Signing in failed: no network")
    reader.answer("sign-in", with: .text("no", status: 403))
    await reader.model.signIn("ada")
    #expect(reader.model.isLogin && reader.model.notice?.contains("403") == true)
    await reader.test.close()
  }

  @Test func `a sign-in, which is not tried again, may take long to connect`() async throws {
    let reader = try Reader()
    try await reader.signIn("ada")
    #expect(reader.requests(for: "sign-in").map(\.limits.connectTimeout) == [.seconds(15)])
    await reader.test.close()
  }

  @Test func `a sign-out shows the login and erases what was stored`() async throws {
    let reader = try Reader()
    try await reader.signIn("ada")
    try reader.publish("Ice gone")
    let list = try #require(reader.model.list)
    await list.appear()
    list.open(try #require(list.headlines.first))
    #expect(try await reader.test.service.entries().count == 1)
    await reader.model.signOut()
    #expect(reader.model.isLogin && list.headlines.isEmpty && list.story == nil)
    #expect(try await reader.test.service.entries().isEmpty)
    #expect(await reader.credentials.credential() == nil)
    await reader.test.close()
  }

  @Test(arguments: [true, false])
  func `another account never shows the first one's list`(signsOut: Bool) async throws {
    let reader = try Reader()
    try await reader.signIn("ada")
    try reader.publish("Ada's own")
    await reader.model.list?.appear()
    if signsOut { await reader.model.signOut() }
    try await reader.signIn("bob")
    reader.answer("headlines", with: .failure(.offline, "no network"))
    let list = try #require(reader.model.list)
    try await reader.patiently { await list.appear() }
    #expect(list.account == "bob" && list.headlines.isEmpty && list.error == "no network")
    try reader.publish("Bob's own")
    await list.refresh()
    #expect(list.titles == ["Bob's own"])
    #expect(reader.requests(for: "headlines").last?.fields["Authorization"] == "Bearer bob-token")
    await reader.test.close()
  }

  @Test func `an answer that comes after the sign-out is shown to nobody and not stored`() async throws {
    let reader = try Reader()
    try await reader.signIn("ada")
    reader.answer("headlines", with: try .json([Headline(id: 1, title: "Ada's own")]).after(.seconds(7)))
    let first = try #require(reader.model.list)
    let appearing = Task { await first.appear() }
    await reader.test.clock.whenPending(for: .seconds(7))
    await reader.model.signOut()
    try await reader.signIn("bob")
    reader.test.clock.advance(by: .seconds(7))
    await appearing.value
    #expect(first.headlines.isEmpty && reader.model.list?.headlines.isEmpty == true)
    #expect(try await reader.test.service.entries().isEmpty)
    // Nor does the list that was left load for the one who is signed in now.
    try reader.publish("Bob's own")
    await first.refresh()
    #expect(first.headlines.isEmpty)
    await reader.test.close()
  }

  @Test func `a token that is taken no longer leads to the login, and the rows stay`() async throws {
    let reader = try Reader()
    try await reader.signIn("ada")
    try reader.publish("Ice gone")
    let list = try #require(reader.model.list)
    await list.appear()
    let following = Task { [model = reader.model] in await model.follow() }
    reader.answer("headlines", with: .text("expired", status: 401))
    await list.refresh()
    await until { reader.model.isLogin }
    #expect(reader.model.notice == "The session of ada has expired.")
    #expect(try await reader.test.service.entries().count == 1)
    try reader.publish("Ice gone")
    await reader.model.signIn("ada")
    let again = try #require(reader.model.list)
    #expect(again !== list)
    await again.appear()
    #expect(again.titles == ["Ice gone"])
    following.cancel()
    await reader.test.close()
  }
}
