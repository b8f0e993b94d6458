import DataService
import DataServiceTesting
import FixtureServer
import Launch
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

/// Renewals that a test holds up. They are deaf to cancellation; the first brings the token `t1`, the second `t2`.
private final class HeldRenewals: Sendable {
  private let count = Mutex(0)
  private let begun = [Gate(), Gate(), Gate()]
  private let mayEnd = [Gate(), Gate(), Gate()]

  var calls: Int { count.withLock { $0 } }

  func renew(_ credential: Credential) async throws -> Credential {
    let number = count.withLock { count in
      count += 1
      return count
    }
    begun[number - 1].open()
    let gate = mayEnd[number - 1]
    await Task { await gate.wait() }.value
    return Credential(account: credential.account, token: "t\(number)")
  }
  func whenBegun(_ number: Int) async { await begun[number - 1].wait() }
  func end(_ number: Int) { mayEnd[number - 1].open() }
}

/// A session of alice, whose first token the origin refuses, or which has expired by the clock.
private struct Setting {
  static let wall = Date(timeIntervalSince1970: 1_000)
  let fixture: ServiceFixture
  let clock = ManualClock()
  let credentials: MemoryCredentials
  let renewals = HeldRenewals()
  let session: Session

  init(
    isExpired: Bool = false, canRenew: Bool = true,
    renewing: (@Sendable (Credential) async throws -> Credential)? = nil,
    script: @escaping ScriptedTransport.Script = { request, _ in Setting.refusingOld(request) }
  ) throws {
    fixture = try .scripted(script)
    var credential = SessionTests.old
    if isExpired { credential.expiresAt = Self.wall.addingTimeInterval(-1) }
    credentials = MemoryCredentials(credential)
    var configuration = Session.Configuration()
    configuration.now = { Self.wall }
    configuration.clock = LaunchClock(clock)
    configuration.renewalTimeout = .seconds(60)
    if canRenew { configuration.renew = renewing ?? { [renewals] in try await renewals.renew($0) } }
    session = Session(service: fixture.service, credentials: credentials, configuration: configuration)
  }

  /// What a request's token is answered; what no session sends is answered "seed".
  static func refusingOld(_ request: TransportRequest) -> TransportResponse {
    guard let token = request.fields["Authorization"] else { return .answer("seed") }
    return token == "Bearer old" ? .answer("who are you?", status: 401) : .answer("for \(token)")
  }

  func request(_ path: String = "item", method: RequestMethod = .get) throws -> DataService.Request {
    var request = DataService.Request(
      try #require(URL(string: "http://origin.test/\(path)")), method: method)
    request.limits.retries = 0
    return request
  }

  /// Stores a response of the account's.
  func seed(_ path: String = "item") async throws {
    var request = try request(path)
    request.account = .named("alice")
    for await _ in fixture.service.deliveries(for: request) {}
  }

  /// The tokens that were sent, in order.
  var sent: [String] { fixture.requests.compactMap { $0.fields["Authorization"] } }

  /// Starts a load, which waits for the renewal when this returns.
  /// - Parameter waiting: How many loads wait then.
  func waitingLoad(
    _ request: DataService.Request, policy: FetchPolicy = .storedThenFresh, waiting: Int = 1
  ) async -> Task<[String], Never> {
    let load = Task { [session] in await session.outline(request, policy: policy) }
    // The renewal's own limit sleeps too.
    await clock.whenSleeping(waiting + 1)
    return load
  }
}

@Suite("Session: the wait for a renewal", .inTurn) struct SessionRenewalTests {
  // MARK: - What ends the wait

  @Test(
    "a load that waits for a renewal ends when it is cancelled, and the others get the token",
    arguments: [false, true])
  func cancelled(isExpired: Bool) async throws {
    let setting = try Setting(isExpired: isExpired)
    await setting.session.start()
    let first = await setting.waitingLoad(try setting.request("1"))
    let second = await setting.waitingLoad(try setting.request("2"), waiting: 2)
    first.cancel()
    #expect(await first.value == [])
    setting.renewals.end(1)
    #expect(await second.value == ["fresh(for Bearer t1, new)"])
    #expect(setting.renewals.calls == 1)
    await setting.fixture.service.close()
  }

  @Test(
    "a load that waits for a renewal ends at its own time limit, counted from its begin, with what is stored",
    arguments: [
      (.storedThenFresh, ["stored(seed)", "failure(timeout(total), last seed)"]),
      (.freshOnly, ["failure(timeout(total), last seed)"]), (.http, ["failure(timeout(total), last seed)"]),
      (.freshElseStored(within: nil), ["stored(seed)", "failure(timeout(total), last seed)"]),
    ] as [(FetchPolicy, [String])])
  func timeLimit(policy: FetchPolicy, expected: [String]) async throws {
    let clock = Mutex<ManualClock?>(nil)
    let setting = try Setting(script: { request, _ in
      // The refusal takes five seconds.
      if request.fields["Authorization"] == "Bearer old" { clock.withLock { $0 }?.advance(by: .seconds(5)) }
      return Setting.refusingOld(request)
    })
    clock.withLock { $0 = setting.clock }
    await setting.session.start()
    try await setting.seed()
    var request = try setting.request()
    request.limits.totalTimeout = .seconds(20)
    let load = await setting.waitingLoad(request, policy: policy)
    let other = await setting.waitingLoad(try setting.request("other"), waiting: 2)
    setting.clock.advance(by: .seconds(15))
    #expect(await load.value == expected)
    setting.renewals.end(1)
    #expect(await other.value == ["fresh(for Bearer t1, new)"])
    #expect(setting.session.current == .signedIn(account: "alice"))
    await setting.fixture.service.close()
  }

  @Test("a load that waits for a renewal ends at its policy's deadline", arguments: [false, true])
  func deadline(isExpired: Bool) async throws {
    let setting = try Setting(isExpired: isExpired)
    await setting.session.start()
    try await setting.seed()
    let stored = await setting.waitingLoad(try setting.request(), policy: .freshElseStored())
    let missing = await setting.waitingLoad(
      try setting.request("2"), policy: .freshElseStored(within: .seconds(3)), waiting: 2)
    let patient = await setting.waitingLoad(try setting.request("3"), policy: .freshElseStored(), waiting: 3)
    setting.clock.advance(by: .seconds(3))
    #expect(await stored.value == ["stored(seed)", "failure(timeout(deadline), last seed)"])
    #expect(await missing.value == ["failure(timeout(deadline))"])
    setting.renewals.end(1)
    #expect(await patient.value == ["fresh(for Bearer t1, new)"])
    await setting.fixture.service.close()
  }

  @Test(
    "a load that waits for a renewal ends with one failure when its account is signed out or replaced",
    arguments: [false, true], [false, true])
  func signedOut(isExpired: Bool, isReplaced: Bool) async throws {
    let setting = try Setting(isExpired: isExpired)
    await setting.session.start()
    try await setting.seed()
    let load = await setting.waitingLoad(try setting.request(), policy: .freshOnly)
    if isReplaced {
      try await setting.session.signIn(Credential(account: "bob", token: "b"))
    } else {
      try await setting.session.signOut()
    }
    #expect(await load.value == ["failure(signedOut)"])
    setting.renewals.end(1)
    await setting.fixture.service.close()
  }

  @Test func `the longest limits are none, by the system's clock`() async throws {
    let fixture = try ServiceFixture.scripted { request, _ in Setting.refusingOld(request) }
    let renewals = HeldRenewals()
    var configuration = Session.Configuration()
    configuration.renewalTimeout = .seconds(Int64.max)
    configuration.renew = { try await renewals.renew($0) }
    let session = Session(
      service: fixture.service, credentials: MemoryCredentials(SessionTests.old), configuration: configuration
    )
    await session.start()
    var request = DataService.Request(try #require(URL(string: "http://origin.test/item")))
    request.limits.totalTimeout = .seconds(Int64.max)
    async let lines = session.outline(request)
    await renewals.whenBegun(1)
    renewals.end(1)
    #expect(await lines == ["fresh(for Bearer t1, new)"])
    await fixture.service.close()
  }

  // MARK: - Its length

  @Test func `a renewal that takes too long has failed for now, and the next refusal begins another`()
    async throws
  {
    let setting = try Setting()
    await setting.session.start()
    let first = await setting.waitingLoad(try setting.request())
    setting.clock.advance(by: .seconds(60))
    #expect(await first.value == ["failure(timeout(total))"])
    #expect(setting.session.current == .signedIn(account: "alice"))
    let second = await setting.waitingLoad(try setting.request())
    #expect(setting.renewals.calls == 2)
    setting.renewals.end(2)
    #expect(await second.value == ["fresh(for Bearer t2, new)"])
    setting.renewals.end(1)
    await setting.fixture.service.close()
  }

  @Test func `the late result of a renewal that took too long is used while no later token has come`()
    async throws
  {
    let setting = try Setting()
    await setting.session.start()
    let first = await setting.waitingLoad(try setting.request())
    setting.clock.advance(by: .seconds(60))
    #expect(await first.value == ["failure(timeout(total))"])
    setting.renewals.end(1)
    await setting.credentials.isSaving.wait()
    #expect(await setting.session.outline(try setting.request()) == ["fresh(for Bearer t1, new)"])
    #expect(setting.renewals.calls == 1)
    await setting.fixture.service.close()
  }

  // MARK: - Loads within it

  /// The session that a renewal uses.
  private final class Within: Sendable {
    let session = Mutex<Session?>(nil)
    let lines = Mutex<[String]>([])
    func load(_ request: DataService.Request) async {
      guard let session = session.withLock({ $0 }) else { return }
      let outline = await session.outline(request, policy: .freshOnly)
      lines.withLock { $0 += outline }
    }
  }

  @Test(
    "a load that a renewal makes through its session does not wait for that renewal",
    arguments: [false, true], [false, true])
  func within(isExpired: Bool, isAnswered: Bool) async throws {
    let within = Within()
    let token = DataService.Request(try #require(URL(string: "http://origin.test/token")))
    let setting = try Setting(isExpired: isExpired) { old in
      await within.load(token)
      guard isAnswered else { throw DataServiceError(.status, "no", status: 401) }
      return Credential(account: old.account, token: "t1")
    } script: { request, _ in
      if isAnswered, request.url.path == "/token" { return .answer("a token") }
      return Setting.refusingOld(request)
    }
    within.session.withLock { $0 = setting.session }
    await setting.session.start()
    let lines = await setting.session.outline(try setting.request(), policy: .freshOnly)
    #expect(lines == [isAnswered ? "fresh(for Bearer t1, new)" : "failure(status)"])
    #expect(within.lines.withLock { $0 } == [isAnswered ? "fresh(a token, new)" : "failure(status)"])
    #expect(
      setting.session.current == (isAnswered ? .signedIn(account: "alice") : .expired(account: "alice")))
    within.session.withLock { $0 = nil }
    await setting.fixture.service.close()
  }

  @Test func `what a renewal has begun and left behind is no part of the next one`() async throws {
    let within = Within()
    let renewals = HeldRenewals()
    let left = Mutex<Task<Void, Never>?>(nil)
    let mayLoad = Gate()
    let request = DataService.Request(try #require(URL(string: "http://origin.test/left")))
    let setting = try Setting { old in
      if renewals.calls == 0 {
        let task = Task {
          await mayLoad.wait()
          await within.load(request)
        }
        left.withLock { $0 = task }
      }
      return try await renewals.renew(old)
    } script: { request, _ in
      let token = request.fields["Authorization"] ?? "nobody"
      let isTaken = token == "Bearer t2" || token == "Bearer t1" && request.url.path == "/item"
      return isTaken ? .answer("for \(token)") : .answer("who are you?", status: 401)
    }
    within.session.withLock { $0 = setting.session }
    await setting.session.start()
    renewals.end(1)
    #expect(await setting.session.outline(try setting.request()) == ["fresh(for Bearer t1, new)"])
    let other = await setting.waitingLoad(try setting.request("other"))
    mayLoad.open()
    // It waits as the other load does.
    await setting.clock.whenSleeping(3)
    renewals.end(2)
    #expect(await other.value == ["fresh(for Bearer t2, new)"])
    let task = try #require(left.withLock { $0 })
    await task.value
    #expect(within.lines.withLock { $0 } == ["fresh(for Bearer t2, new)"])
    within.session.withLock { $0 = nil }
    await setting.fixture.service.close()
  }

  // MARK: - Loads that begin meanwhile

  @Test(
    "loads that begin while a refused token is being renewed are sent once, with the new one",
    arguments: [RequestMethod.get, .post])
  func begunMeanwhile(method: RequestMethod) async throws {
    let setting = try Setting()
    await setting.session.start()
    var loads: [Task<[String], Never>] = []
    for number in 1...5 {
      let request = try setting.request("\(number)", method: number == 1 ? .get : method)
      loads.append(await setting.waitingLoad(request, waiting: number))
    }
    #expect(setting.sent == ["Bearer old"])
    setting.renewals.end(1)
    for load in loads { #expect(await load.value == ["fresh(for Bearer t1, new)"]) }
    #expect(setting.sent == ["Bearer old"] + Array(repeating: "Bearer t1", count: 5))
    #expect(setting.renewals.calls == 1)
    await setting.fixture.service.close()
  }

  @Test func `what is stored does not wait for the renewal of a refused token`() async throws {
    let setting = try Setting()
    await setting.session.start()
    try await setting.seed("2")
    let first = await setting.waitingLoad(try setting.request("1"))
    let request = try setting.request("2")
    let young = FetchPolicy.storedElseFresh(maxAge: .seconds(3600))
    #expect(await setting.session.outline(request, policy: young) == ["stored(seed)"])
    #expect(await setting.session.outline(request, policy: .storedOnly) == ["stored(seed)"])
    let isShown = Gate()
    async let lines = setting.session.outline(request, first: isShown)
    await isShown.wait()
    setting.renewals.end(1)
    #expect(await lines == ["stored(seed)", "fresh(for Bearer t1, changed)"])
    _ = await first.value
    #expect(setting.sent == ["Bearer old", "Bearer t1", "Bearer t1"])
    await setting.fixture.service.close()
  }

  // MARK: - What is stored

  @Test(
    "a refused load that shows nothing of what is stored fails with it",
    arguments: [.freshOnly, .http] as [FetchPolicy], [false, true])
  func lastKnown(policy: FetchPolicy, canRenew: Bool) async throws {
    struct Refused: Error {}
    let setting = try Setting(canRenew: canRenew) { _ in throw Refused() }
    await setting.session.start()
    try await setting.seed()
    let request = try setting.request()
    for _ in 1...2 {
      // The second time the session has expired.
      #expect(await setting.session.outline(request, policy: policy) == ["failure(status, last seed)"])
      #expect(setting.session.current == .expired(account: "alice"))
    }
    #expect(await setting.session.outline(request, policy: .storedOnly) == ["stored(seed)"])
    #expect(setting.sent == ["Bearer old"])
    await setting.fixture.service.close()
  }

  @Test(
    "law 5: an error page after a renewal is a failure while something is stored",
    arguments: [FetchPolicy.storedThenFresh, .freshElseStored(), .storedElseFresh(maxAge: .zero)],
    [false, true])
  func errorPage(policy: FetchPolicy, isExpired: Bool) async throws {
    let setting = try Setting(isExpired: isExpired) {
      Credential(account: $0.account, token: "t1")
    } script: { request, _ in
      request.fields["Authorization"] == "Bearer t1"
        ? .answer("not now", status: 503) : Setting.refusingOld(request)
    }
    await setting.session.start()
    try await setting.seed()
    let lines = await setting.session.outline(try setting.request(), policy: policy)
    #expect(lines == ["stored(seed)", "failure(status, last seed)"])
    await setting.fixture.service.close()
  }
}
