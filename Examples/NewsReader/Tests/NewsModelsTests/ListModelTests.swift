import DataService
import DataServiceTesting
import NewsModels
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("The list of a news reader", .timeLimit(.minutes(1))) @MainActor struct ListModelTests {
  @Test func `what is stored is shown at once, then what is fresh`() async throws {
    let reader = try Reader()
    try await reader.signIn("ada")
    try reader.publish("Ice gone")
    let first = try #require(reader.model.list)
    await first.appear()
    #expect(first.titles == ["Ice gone"] && !first.isStored)

    reader.answer("headlines", with: try .json([Headline(id: 1, title: "Harbour open")]).after(.seconds(7)))
    let relaunched = try reader.relaunched()
    await relaunched.start()
    let list = try #require(relaunched.list)
    let appearing = Task { await list.appear() }
    await reader.test.clock.whenPending(for: .seconds(7))
    await until { !list.headlines.isEmpty }
    #expect(list.titles == ["Ice gone"] && list.isStored && list.isLoading)
    reader.test.clock.advance(by: .seconds(7))
    await appearing.value
    #expect(list.titles == ["Harbour open"] && !list.isStored && !list.isLoading)
    await reader.test.close()
  }

  @Test func `without a network the stored list stands, and the error beside it`() async throws {
    let reader = try Reader()
    try await reader.signIn("ada")
    try reader.publish("Ice gone")
    await reader.model.list?.appear()
    reader.answer("headlines", with: .failure(.offline, "no network"))
    let relaunched = try reader.relaunched()
    await relaunched.start()
    let list = try #require(relaunched.list)
    try await reader.patiently { await list.appear() }
    #expect(list.titles == ["Ice gone"] && list.isStored && list.error == "no network")
    await reader.test.close()
  }

  @Test func `pull to refresh brings what is fresh, or says why not`() async throws {
    let reader = try Reader()
    try await reader.signIn("ada")
    try reader.publish("Ice gone")
    let list = try #require(reader.model.list)
    await list.appear()
    try reader.publish("Harbour open", "Ice gone")
    await list.refresh()
    #expect(list.titles == ["Harbour open", "Ice gone"] && list.error == nil)
    reader.answer("headlines", with: .failure(.refused, "nobody is there"))
    try await reader.patiently { await list.refresh() }
    #expect(list.titles == ["Harbour open", "Ice gone"] && list.error == "nobody is there")
    try reader.publish("Ferry runs")
    await list.refresh()
    #expect(list.titles == ["Ferry runs"] && list.error == nil)
    await reader.test.close()
  }

  @Test func `an answer that is no news replaces nothing`() async throws {
    let reader = try Reader()
    try await reader.signIn("ada")
    try reader.publish("Ice gone")
    let list = try #require(reader.model.list)
    await list.appear()
    reader.answer("headlines", with: .text("<html>", fields: ["Content-Type": "text/html"]))
    await list.refresh()
    #expect(list.titles == ["Ice gone"] && list.error != nil)
    let relaunched = try reader.relaunched()
    await relaunched.start()
    await relaunched.list?.appear()
    #expect(relaunched.list?.titles == ["Ice gone"])
    await reader.test.close()
  }

  @Test func `a list that disappears stops its load`() async throws {
    let reader = try Reader()
    try await reader.signIn("ada")
    reader.answer("headlines", with: .never)
    let list = try #require(reader.model.list)
    let appearing = Task { await list.appear() }
    await until { reader.requests(for: "headlines").count == 1 }
    appearing.cancel()
    await appearing.value
    #expect(!list.isLoading && list.error == nil)
    try reader.publish("Ice gone")
    // Would wait with the load before, if that were still under way.
    await list.appear()
    #expect(list.titles == ["Ice gone"])
    await reader.test.close()
  }

  @Test func `of two loads at a time the later one counts`() async {
    let (stream, early) = AsyncStream.makeStream(of: DataService.Delivery<[Headline]>.self)
    let list = ListModel(
      account: "ada",
      source: NewsSource(
        headlines: { policy in
          policy == .freshOnly
            ? .init([.fresh(.init([Headline(id: 2, title: "later")], source: .fresh), .changed)])
            : .init { stream }
        },
        story: { _ in .init([]) }))
    let appearing = Task { await list.appear() }
    await until { list.isLoading }
    await list.refresh()
    early.yield(.stored(.init([Headline(id: 1, title: "earlier")], source: .stored)))
    await appearing.value
    #expect(list.titles == ["later"] && !list.isLoading)
  }
}
