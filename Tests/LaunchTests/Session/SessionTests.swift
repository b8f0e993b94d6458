import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import Launch
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// Credentials in memory; reading, saving and removing may be held up.
final class MemoryCredentials: CredentialStore {
  private let kept: Mutex<Credential?>
  private let mayRead: Gate
  private let maySave: Gate
  private let mayRemove: Gate
  /// Opened when the credential is about to be read.
  let isReading = Gate()
  /// Opened when a credential is about to be saved.
  let isSaving = Gate()

  init(
    _ credential: Credential? = nil, mayRead: Gate = opened(), maySave: Gate = opened(),
    mayRemove: Gate = opened()
  ) {
    kept = Mutex(credential)
    self.mayRead = mayRead
    self.maySave = maySave
    self.mayRemove = mayRemove
  }

  func credential() async throws -> Credential? {
    isReading.open()
    await mayRead.wait()
    return kept.withLock { $0 }
  }
  func save(_ credential: Credential) async throws {
    isSaving.open()
    await maySave.wait()
    kept.withLock { $0 = credential }
  }
  func remove() async throws {
    await mayRemove.wait()
    kept.withLock { $0 = nil }
  }

  static func opened() -> Gate {
    let gate = Gate()
    gate.open()
    return gate
  }
}

/// Credentials that can be read, and neither saved nor removed.
private struct LockedCredentials: CredentialStore {
  struct Locked: Error {}
  var kept: Credential?

  func credential() async throws -> Credential? { kept }
  func save(_ credential: Credential) async throws { throw Locked() }
  func remove() async throws { throw Locked() }
}

@Suite("Session: loads in an account's name", .inTurn) struct SessionTests {
  static let old = Credential(account: "alice", token: "old")
  static let new = Credential(account: "alice", token: "new")

  private func request(_ path: String = "item") throws -> DataService.Request {
    var request = DataService.Request(try #require(URL(string: "http://origin.test/\(path)")))
    request.limits.retries = 0
    return request
  }

  /// All deliveries of a load, in short; the gate opens at the first.
  private func outline(
    _ request: DataService.Request, by source: any DeliverySource, policy: FetchPolicy = .storedThenFresh,
    first: Gate? = nil
  ) async -> [String] {
    await source.outline(request, policy: policy, first: first)
  }

  @Test func `20 parallel 401s cause one renewal, and each request is made once more`() async throws {
    let allRefused = Gate()
    let transport = ScriptedTransport { request, number in
      if number == 20 { allRefused.open() }
      return request.fields["Authorization"] == "Bearer new"
        ? .answer("for alice") : .answer("who are you?", status: 401)
    }
    let fixture = try ServiceFixture(transport: transport)
    let renewals = Atomic(0)
    var configuration = Session.Configuration()
    configuration.renew = { credential in
      await allRefused.wait()
      renewals.wrappingAdd(1, ordering: .relaxed)
      return Credential(account: credential.account, token: "new")
    }
    let credentials = MemoryCredentials(Self.old)
    let session = Session(service: fixture.service, credentials: credentials, configuration: configuration)
    await session.start()
    let all = try await withThrowingTaskGroup(of: [String].self) { group in
      for number in 0..<20 {
        let request = try request("\(number)")
        group.addTask { await outline(request, by: session) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(all == .init(repeating: ["fresh(for alice, new)"], count: 20))
    #expect(renewals.load(ordering: .relaxed) == 1)
    #expect(transport.requests.count == 40)
    #expect(try await credentials.credential() == Self.new)
    #expect(session.current == .signedIn(account: "alice"))
  }

  @Test func `a token that is refused after what is stored was delivered: it is not delivered again`()
    async throws
  {
    let transport = ScriptedTransport { request, number in
      let isTaken = number == 1 || request.fields["Authorization"] == "Bearer new"
      return isTaken ? .answer("body \(number)") : .answer("who are you?", status: 401)
    }
    let clock = VirtualClock()
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock)
    var configuration = Session.Configuration()
    configuration.renew = { Credential(account: $0.account, token: "new") }
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(Self.old), configuration: configuration)
    await session.start()
    let request = try request()
    #expect(await outline(request, by: session) == ["fresh(body 1, new)"])
    let policy = FetchPolicy.storedThenFresh(ifOlderThan: .seconds(60))
    #expect(await outline(request, by: session, policy: policy) == ["stored(body 1)"])
    clock.advance(by: .seconds(60))
    #expect(
      await outline(request, by: session, policy: policy) == ["stored(body 1)", "fresh(body 3, changed)"])
    await fixture.service.close()
  }

  @Test func `a renewal that is refused after what is stored was delivered: the failure carries it`()
    async throws
  {
    let transport = ScriptedTransport { _, number in
      number == 1 ? .answer("body") : .answer("who are you?", status: 401)
    }
    let fixture = try ServiceFixture(transport: transport)
    var configuration = Session.Configuration()
    configuration.renew = { _ in throw DataServiceError(.refused, "no renewal") }
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(Self.old), configuration: configuration)
    await session.start()
    let request = try request()
    #expect(await outline(request, by: session) == ["fresh(body, new)"])
    #expect(await outline(request, by: session) == ["stored(body)", "failure(refused, last body)"])
    await fixture.service.close()
  }

  @Test func `a session survives a restart`() async throws {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let credentials = MemoryCredentials()
    let first = Session(service: fixture.service, credentials: credentials)
    await first.start()
    #expect(first.current == .signedOut(.noCredential))
    try await first.signIn(Self.old)
    let second = Session(service: fixture.service, credentials: credentials)
    await second.start()
    #expect(second.current == .signedIn(account: "alice"))
    try await second.signOut()
    let third = Session(service: fixture.service, credentials: credentials)
    await third.start()
    #expect(third.current == .signedOut(.noCredential))
  }

  @Test func `log-out during an exchange: its answer is neither delivered nor stored`() async throws {
    let asked = Gate()
    let mayAnswer = Gate()
    let transport = ScriptedTransport { _, _ async in
      asked.open()
      await mayAnswer.wait()
      return .answer("secret")
    }
    let fixture = try ServiceFixture(transport: transport)
    let session = Session(service: fixture.service, credentials: MemoryCredentials(Self.old))
    await session.start()
    async let lines = outline(try request(), by: session)
    await asked.wait()
    try await session.signOut()
    mayAnswer.open()
    #expect(try await lines == ["failure(signedOut)"])
    #expect(session.current == .signedOut(.requested))
    #expect(try await fixture.service.entries().isEmpty)
  }

  @Test func `a slow sign-out revokes at its start`() async throws {
    let asked = Gate()
    let mayAnswer = Gate()
    let mayRemove = Gate()
    let transport = ScriptedTransport { _, number async in
      if number == 2 {
        asked.open()
        await mayAnswer.wait()
      }
      return .answer("secret")
    }
    let fixture = try ServiceFixture(transport: transport)
    let credentials = MemoryCredentials(Self.old, mayRemove: mayRemove)
    let session = Session(service: fixture.service, credentials: credentials)
    await session.start()
    #expect(await outline(try request(), by: session) == ["fresh(secret, new)"])
    let hasStored = Gate()
    async let lines = outline(try request(), by: session, first: hasStored)
    await asked.wait()
    // What comes after the sign-out has begun is not delivered, the stored response either.
    await hasStored.wait()
    async let signedOut: Void = session.signOut()
    for await phase in session.phases where phase == .signingOut(account: "alice") { break }
    // The answer comes while the credential is still being removed.
    mayAnswer.open()
    #expect(try await lines == ["stored(secret)", "failure(signedOut)"])
    #expect(await outline(try request(), by: session) == ["failure(signedOut)"])
    mayRemove.open()
    try await signedOut
    #expect(try await fixture.service.entries().isEmpty)
  }

  @Test func `a sign-in waits for the sign-out under way`() async throws {
    let mayRemove = Gate()
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let credentials = MemoryCredentials(Self.old, mayRemove: mayRemove)
    let session = Session(service: fixture.service, credentials: credentials)
    await session.start()
    async let signedOut: Void = session.signOut()
    for await phase in session.phases where phase == .signingOut(account: "alice") { break }
    async let signedIn: Void = session.signIn(Credential(account: "bob", token: "b"))
    mayRemove.open()
    try await signedOut
    try await signedIn
    #expect(session.current == .signedIn(account: "bob"))
    #expect(try await credentials.credential()?.account == "bob")
  }

  @Test func `without a way to renew, a 401 expires the session, and what is stored was shown`() async throws
  {
    let transport = ScriptedTransport { _, number in
      number == 1 ? .answer("mine") : .answer("who are you?", status: 401)
    }
    let fixture = try ServiceFixture(transport: transport)
    let session = Session(service: fixture.service, credentials: MemoryCredentials(Self.old))
    await session.start()
    _ = await outline(try request(), by: session)
    #expect(await outline(try request(), by: session) == ["stored(mine)", "failure(status, last mine)"])
    #expect(session.current == .expired(account: "alice"))
  }

  @Test("a configured status is a refusal as a 401 is, and another is not", arguments: [419, 403])
  func configuredStatuses(status: Int) async throws {
    let transport = ScriptedTransport { request, _ in
      request.fields["Authorization"] == "Bearer new" ? .answer("mine") : .answer("no", status: status)
    }
    let fixture = try ServiceFixture(transport: transport)
    var configuration = Session.Configuration()
    configuration.expiredStatuses = [401, 419]
    configuration.renew = { _ in Self.new }
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(Self.old), configuration: configuration)
    await session.start()
    let lines = await outline(try request(), by: session)
    #expect(lines == (status == 419 ? ["fresh(mine, new)"] : ["fresh(no, new)"]))
    #expect(session.current == .signedIn(account: "alice"))
  }

  @Test
  func
    `a token that has expired by the clock is renewed before it is sent, and the stored answer does not wait`()
    async throws
  {
    let transport = ScriptedTransport { _, number in .answer("body \(number)") }
    let fixture = try ServiceFixture(transport: transport)
    let now = Date(timeIntervalSince1970: 1_000)
    let mayRenew = Gate()
    var configuration = Session.Configuration()
    configuration.now = { now }
    configuration.renew = { _ in
      await mayRenew.wait()
      return Credential(account: "alice", token: "new", expiresAt: now.addingTimeInterval(3_600))
    }
    var expired = Self.old
    expired.expiresAt = now.addingTimeInterval(-1)
    var seeded = try request()
    seeded.account = .named("alice")
    for await _ in fixture.service.deliveries(for: seeded) {}

    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(expired), configuration: configuration)
    await session.start()
    let lines = Mutex<[String]>([])
    for await delivery in session.deliveries(for: try request()) {
      lines.withLock { $0.append(delivery.outline) }
      mayRenew.open()
    }
    #expect(lines.withLock { $0 } == ["stored(body 1)", "fresh(body 2, changed)"])
    #expect(transport.requests.map { $0.fields["Authorization"] } == [nil, "Bearer new"])
  }

  // MARK: - Order with the credential store

  @Test func `a sign-out while a renewed credential is being saved removes it`() async throws {
    let maySave = Gate()
    let transport = ScriptedTransport { request, _ in
      request.fields["Authorization"] == "Bearer new" ? .answer("mine") : .answer("no", status: 401)
    }
    let fixture = try ServiceFixture(transport: transport)
    var configuration = Session.Configuration()
    configuration.renew = { _ in Self.new }
    let credentials = MemoryCredentials(Self.old, maySave: maySave)
    let session = Session(service: fixture.service, credentials: credentials, configuration: configuration)
    await session.start()
    async let lines = outline(try request(), by: session)
    await credentials.isSaving.wait()
    async let signedOut: Void = session.signOut()
    for await phase in session.phases where phase == .signingOut(account: "alice") { break }
    maySave.open()
    try await signedOut
    #expect(try await lines == ["failure(signedOut)"])
    #expect(try await credentials.credential() == nil)
  }

  @Test func `a sign-out while the credential of a sign-in is being saved removes it`() async throws {
    let maySave = Gate()
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let credentials = MemoryCredentials(maySave: maySave)
    let session = Session(service: fixture.service, credentials: credentials)
    await session.start()
    async let signedIn: Void = session.signIn(Self.old)
    await credentials.isSaving.wait()
    async let signedOut: Void = session.signOut()
    for await phase in session.phases where phase == .signingOut(account: "alice") { break }
    maySave.open()
    try await signedIn
    try await signedOut
    #expect(session.current == .signedOut(.requested))
    #expect(try await credentials.credential() == nil)
  }

  @Test func `who signs in while another's credential is being saved is the one that stays`() async throws {
    let maySave = Gate()
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let credentials = MemoryCredentials(maySave: maySave)
    let session = Session(service: fixture.service, credentials: credentials)
    await session.start()
    async let alice: Void = session.signIn(Self.old)
    await credentials.isSaving.wait()
    async let bob: Void = session.signIn(Credential(account: "bob", token: "b"))
    for await phase in session.phases where phase == .signedIn(account: "bob") { break }
    maySave.open()
    try await alice
    try await bob
    #expect(try await credentials.credential()?.account == "bob")
  }

  @Test("a sign-out before the credential is read signs its account out", arguments: [false, true])
  func signOutBeforeRead(isBegun: Bool) async throws {
    let mayRead = Gate()
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    var seeded = try request()
    seeded.account = .named("alice")
    for await _ in fixture.service.deliveries(for: seeded) {}
    let credentials = MemoryCredentials(Self.old, mayRead: mayRead)
    let session = Session(service: fixture.service, credentials: credentials)
    async let started: Void = isBegun ? session.start() : ()
    if isBegun { await credentials.isReading.wait() }
    async let signedOut: Void = session.signOut()
    // Without a start it is the sign-out that reads.
    await credentials.isReading.wait()
    mayRead.open()
    await started
    try await signedOut
    #expect(session.current == .signedOut(.requested))
    await session.start()
    #expect(session.current == .signedOut(.requested))
    #expect(try await credentials.credential() == nil)
    #expect(try await fixture.service.entries().isEmpty)
  }

  @Test("who signs in after a sign-out at launch stays", arguments: [nil, SessionTests.old])
  func signInAfterSignOutAtLaunch(kept: Credential?) async throws {
    for _ in 0..<20 {
      let mayRead = Gate()
      let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
      let credentials = MemoryCredentials(kept, mayRead: mayRead)
      let session = Session(service: fixture.service, credentials: credentials)
      async let started: Void = session.start()
      async let signedOut: Void = session.signOut()
      async let signedIn: Void = session.signIn(Credential(account: "bob", token: "b"))
      mayRead.open()
      await started
      _ = try? await signedOut
      try await signedIn
      // A sign-out that began after the sign-in is bob's own.
      if case .signedIn(let account) = session.current { #expect(account == "bob") }
      let saved = try await credentials.credential()
      #expect(saved?.account == session.current.account, "\(session.current)")
    }
  }

  @Test func `a credential that cannot be saved or removed is an error, and the session goes on`()
    async throws
  {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let session = Session(service: fixture.service, credentials: LockedCredentials())
    await session.start()
    await #expect(throws: LockedCredentials.Locked.self) { try await session.signIn(Self.old) }
    #expect(session.current == .signedIn(account: "alice"))
    let error = await #expect(throws: DataServiceError.self) { try await session.signOut() }
    #expect(error?.kind == .other && error?.message == "the credential could not be removed")
    #expect(session.current == .signedOut(.requested))
  }

  @Test func `stored responses that cannot be removed are the error of a sign-out, before the credential`()
    async throws
  {
    let store = try TemporaryStore()
    try FileManager.default.createDirectory(atPath: store.path, withIntermediateDirectories: true)
    let fixture = try ServiceFixture(store: store, transport: ScriptedTransport { _, _ in .answer("body") })
    let session = Session(service: fixture.service, credentials: LockedCredentials(kept: Self.old))
    await session.start()
    let error = await #expect(throws: DataServiceError.self) { try await session.signOut() }
    #expect(error?.kind == .store)
    #expect(session.current == .signedOut(.requested))
  }

  // MARK: - What is stored, with a token that cannot be renewed now

  @Test(
    "with an expired token and no network each policy has what it has without a session",
    arguments: [
      (.storedThenFresh, ["stored(body 1)", "failure(offline, last body 1)"]),
      (.storedThenFresh(ifOlderThan: .seconds(60)), ["stored(body 1)"]),
      (.storedThenFresh(ifOlderThan: .zero), ["stored(body 1)", "failure(offline, last body 1)"]),
      (.storedElseFresh(maxAge: .seconds(60)), ["stored(body 1)"]),
      (.storedElseFresh(maxAge: .seconds(10)), ["stored(body 1)", "failure(offline, last body 1)"]),
      (.freshElseStored(), ["stored(body 1)", "failure(offline, last body 1)"]),
      (.storedOnly, ["stored(body 1)"]), (.freshOnly, ["failure(offline, last body 1)"]),
    ] as [(FetchPolicy, [String])])
  func expiredOffline(policy: FetchPolicy, expected: [String]) async throws {
    let clock = VirtualClock()
    let fixture = try ServiceFixture(
      transport: ScriptedTransport { _, number in .answer("body \(number)") }, timekeeper: clock)
    var seeded = try request()
    seeded.account = .named("alice")
    for await _ in fixture.service.deliveries(for: seeded) {}
    clock.advance(by: .seconds(30))
    let now = Date(timeIntervalSince1970: 1_000)
    var configuration = Session.Configuration()
    configuration.now = { now }
    configuration.renew = { _ in throw DataServiceError(.offline, "there is no network") }
    var expired = Self.old
    expired.expiresAt = now.addingTimeInterval(-1)
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(expired), configuration: configuration)
    await session.start()
    #expect(await outline(try request(), by: session, policy: policy) == expected)
  }

  @Test(
    "once the session has expired, what is stored is shown as the policy has it, and the origin is not asked",
    arguments: [
      (.storedThenFresh, ["stored(body 1)", "failure(status, last body 1)"]),
      (.storedThenFresh(ifOlderThan: .seconds(60)), ["stored(body 1)"]),
      (.storedElseFresh(maxAge: .seconds(60)), ["stored(body 1)"]),
      (.storedElseFresh(maxAge: .seconds(10)), ["stored(body 1)", "failure(status, last body 1)"]),
      (.freshElseStored(), ["stored(body 1)", "failure(status, last body 1)"]),
      (.storedOnly, ["stored(body 1)"]), (.freshOnly, ["failure(status, last body 1)"]),
      (.http, ["failure(status, last body 1)"]),
    ] as [(FetchPolicy, [String])])
  func expiredSession(policy: FetchPolicy, expected: [String]) async throws {
    let clock = VirtualClock()
    let transport = ScriptedTransport { _, number in
      number == 1 ? .answer("body 1") : .answer("who are you?", status: 401)
    }
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock)
    let session = Session(service: fixture.service, credentials: MemoryCredentials(Self.old))
    await session.start()
    #expect(await outline(try request(), by: session) == ["fresh(body 1, new)"])
    clock.advance(by: .seconds(30))
    #expect(await outline(try request("other"), by: session, policy: .freshOnly) == ["failure(status)"])
    #expect(session.current == .expired(account: "alice"))
    let sent = session.requestAsSent(try request())
    #expect(sent == nil)
    #expect(await outline(try request(), by: session, policy: policy) == expected)
    #expect(transport.requests.count == 2)
    #expect(session.current == .expired(account: "alice"))
  }

  // MARK: - Loads that are cancelled

  @Test func `a load that is cancelled before the credential is read says nothing`() async throws {
    let mayRead = Gate()
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let credentials = MemoryCredentials(Self.old, mayRead: mayRead)
    let session = Session(service: fixture.service, credentials: credentials)
    async let started: Void = session.start()
    await credentials.isReading.wait()
    let request = try request()
    let load = Task { await outline(request, by: session) }
    load.cancel()
    #expect(await load.value == [])
    mayRead.open()
    await started
    #expect(session.current == .signedIn(account: "alice"))
  }

  @Test func `a load that is cancelled while its token is renewed says nothing`() async throws {
    let isRenewing = Gate()
    let mayRenew = Gate()
    let transport = ScriptedTransport { _, _ in .answer("who are you?", status: 401) }
    let fixture = try ServiceFixture(transport: transport)
    var configuration = Session.Configuration()
    configuration.renew = { _ in
      isRenewing.open()
      await mayRenew.wait()
      throw DataServiceError(.offline, "there is no network")
    }
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(Self.old), configuration: configuration)
    await session.start()
    let request = try request()
    let load = Task { await outline(request, by: session) }
    await isRenewing.wait()
    load.cancel()
    mayRenew.open()
    #expect(await load.value == [])
    #expect(session.current == .signedIn(account: "alice"))
  }

  @Test
  func `a refused token that cannot be renewed: an old response that is stored is shown before the failure`()
    async throws
  {
    let transport = ScriptedTransport { _, number in
      number == 1 ? .answer("body") : .answer("who are you?", status: 401)
    }
    let fixture = try ServiceFixture(transport: transport, timekeeper: VirtualClock())
    var configuration = Session.Configuration()
    configuration.renew = { _ in throw DataServiceError(.refused, "no renewal") }
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(Self.old), configuration: configuration)
    await session.start()
    #expect(await outline(try request(), by: session) == ["fresh(body, new)"])
    let lines = await outline(try request(), by: session, policy: .freshElseStored())
    #expect(lines == ["stored(body)", "failure(refused, last body)"])
  }

  @Test("a margin of less than a second counts", arguments: [true, false]) func margin(isWithin: Bool)
    async throws
  {
    let transport = ScriptedTransport { _, _ in .answer("body") }
    let fixture = try ServiceFixture(transport: transport)
    let now = Date(timeIntervalSince1970: 1_000)
    var configuration = Session.Configuration()
    configuration.now = { now }
    configuration.expiryMargin = .milliseconds(500)
    configuration.renew = { _ in Self.new }
    var credential = Self.old
    credential.expiresAt = now.addingTimeInterval(isWithin ? 0.25 : 0.75)
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(credential), configuration: configuration)
    await session.start()
    _ = await outline(try request(), by: session)
    #expect(transport.requests.map { $0.fields["Authorization"] } == [isWithin ? "Bearer new" : "Bearer old"])
  }

  @Test("a token has expired five seconds before its time", arguments: [(5.0, true), (5.5, false)])
  func usualMargin(seconds: Double, hasExpired: Bool) async throws {
    let transport = ScriptedTransport { _, _ in .answer("body") }
    let fixture = try ServiceFixture(transport: transport)
    let now = Date(timeIntervalSince1970: 1_000)
    var configuration = Session.Configuration()
    configuration.now = { now }
    configuration.renew = { _ in Self.new }
    var credential = Self.old
    credential.expiresAt = now.addingTimeInterval(seconds)
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(credential), configuration: configuration)
    await session.start()
    _ = await outline(try request(), by: session)
    let sent = transport.requests.map { $0.fields["Authorization"] }
    #expect(sent == [hasExpired ? "Bearer new" : "Bearer old"])
  }

  @Test func `a renewal that takes too long leaves the account signed in`() async throws {
    let transport = ScriptedTransport { _, _ in .answer("who are you?", status: 401) }
    let fixture = try ServiceFixture(transport: transport)
    var configuration = Session.Configuration()
    configuration.renew = { _ in throw DataServiceError(.timeout(.total), "it takes too long") }
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(Self.old), configuration: configuration)
    await session.start()
    #expect(await outline(try request(), by: session) == ["failure(timeout(total))"])
    #expect(session.current == .signedIn(account: "alice"))
  }

  @Test func `a renewal that fails for want of a network leaves the account signed in`() async throws {
    let transport = ScriptedTransport { _, _ in .answer("who are you?", status: 401) }
    let fixture = try ServiceFixture(transport: transport)
    var configuration = Session.Configuration()
    configuration.renew = { _ in throw DataServiceError(.offline, "there is no network") }
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(Self.old), configuration: configuration)
    await session.start()
    #expect(await outline(try request(), by: session) == ["failure(offline)"])
    #expect(session.current == .signedIn(account: "alice"))
  }

  @Test func `a renewed token that is refused too expires the session, after one retry`() async throws {
    let transport = ScriptedTransport { _, _ in .answer("who are you?", status: 401) }
    let fixture = try ServiceFixture(transport: transport)
    var configuration = Session.Configuration()
    configuration.renew = { _ in Self.new }
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(Self.old), configuration: configuration)
    await session.start()
    #expect(await outline(try request(), by: session) == ["fresh(who are you?, new)"])
    #expect(transport.requests.count == 2)
    #expect(session.current == .expired(account: "alice"))
  }
}
