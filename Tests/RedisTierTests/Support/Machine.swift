import CacheStore
import DataServiceTesting
import PlatformC
import PlatformFoundation
import Synchronization
import TestSupport

@testable import DataService
@testable import RedisTier

/// One machine of a fleet: a tier with a thread, clocks, and a mark of its own, unless they are shared.
final class Machine: Sendable {
  /// A mark in memory.
  final class Mark: TierSilenceMark {
    private let value = Mutex<Int64>(0)
    func read() -> Int64 { value.withLock { $0 } }
    func write(_ new: Int64) { value.withLock { $0 = new } }
  }

  let tier: RedisTier
  let thread: NetworkThread
  let timekeeper: any Timekeeper
  let mark: any TierSilenceMark
  let traces = Mutex<[String]>([])
  let warnings = Mutex<[DataService.Warning]>([])

  /// - Parameter wall: What its wall clock shows, in milliseconds since 1970, where that is not the server's time.
  init(
    _ url: String, timekeeper: (any Timekeeper)? = nil, mark: any TierSilenceMark = Mark(), wall: Int64? = nil
  ) throws {
    let timekeeper = timekeeper ?? wall.map { VirtualClock(wallMilliseconds: $0) }
    if wall == nil { (timekeeper as? VirtualClock)?.set(Date()) }
    tier = RedisTier(try RedisAddress(url))
    thread = tier.server.thread
    self.timekeeper = timekeeper ?? SystemTimekeeper(thread: thread)
    self.mark = mark
    tier.attach(
      to: TierHost(
        timekeeper: self.timekeeper, silence: mark,
        trace: { [weak self] text in self?.traces.withLock { $0.append(text) } },
        warn: { [weak self] warning in self?.warnings.withLock { $0.append(warning) } }))
  }

  deinit { tier.close() }

  /// Runs something on the tier's thread.
  func run<Value: Sendable>(_ body: @escaping @Sendable (RedisTier) async -> Value) async -> Value {
    let tier = tier
    return await Task(executorPreference: thread) { await body(tier) }.value
  }

  func ask(_ question: TierQuestion) async -> TierReply { await tier.ask(question) }

  /// The ticket and row of an answer; `nil` where the tier is silent.
  func answer(_ question: TierQuestion) async -> (ticket: TierTicket, row: TierRow?)? {
    guard case .answered(let ticket, let row, _) = await ask(question) else { return nil }
    return (ticket, row)
  }

  func body(of row: TierRow, for question: TierQuestion) async -> Data? {
    await tier.body(of: row, for: question)
  }

  func invalidate(_ question: TierQuestion) async -> Bool { await tier.invalidate(question) }

  /// Offers a response with a ticket.
  func offer(
    _ question: TierQuestion, _ ticket: TierTicket, body: Data, vary: String = "", age: Int64 = 0,
    fields: HTTPFields = ["Content-Type": "text/plain"]
  ) async -> TierOffered {
    let now = timekeeper.wallMilliseconds
    let head = ReceivedHead(
      status: 200, reason: "OK", fields: fields,
      started: StartMark(boot: timekeeper.bootID, nanoseconds: ticket.bootNanoseconds),
      requestedAt: now - 20, receivedAt: now)
    let offer = TierOffer(question: question, ticket: ticket, head: head, vary: vary, age: age, body: body)
    return await tier.offer(offer)
  }

  /// Asks for a ticket and offers a response with it.
  func share(
    _ question: TierQuestion, _ text: String, vary: String = "", age: Int64 = 0
  ) async -> TierOffered? {
    guard let ticket = await answer(question)?.ticket else { return nil }
    return await offer(question, ticket, body: Data(text.utf8), vary: vary, age: age)
  }

  /// Why the tier is silent; `nil` where it answers.
  func silence(_ question: TierQuestion) async -> String? {
    guard case .silent(let reason) = await ask(question) else { return nil }
    return reason
  }
}

/// A fleet: a server and a key file, which machines are made from.
final class Fleet: Sendable {
  let server: RedisServer
  let folder: TemporaryFolder

  init(certificates: TestCertificates? = nil, directives: String = "") async throws {
    server = try await RedisServer(certificates: certificates, directives: directives)
    folder = try TemporaryFolder()
    try writeKeys([FleetKey.generate()])
  }

  /// Replaces the key file.
  func writeKeys(_ lines: [String], named name: String = "fleet.key") throws {
    try folder.write(lines.joined(separator: "\n") + "\n", to: name)
    chmod(folder.file(name), 0o600)
  }

  /// As patient as can be, since nothing here depends on how busy the machine is. A connection that is there
  /// has half of it.
  func url(
    user: String = RedisServer.user, key: String = "fleet.key", patience: String = "60s", _ more: String = ""
  ) -> String {
    "redis+unix://\(user)@\(server.socket)?key-file=\(folder.file(key))"
      + "&password-file=\(server.folder.file("password"))&patience=\(patience)\(more)"
  }

  func client() throws -> RedisClient { try RedisClient(socket: server.socket) }
}

extension TierQuestion {
  /// A page that tests ask for.
  static let page = TierQuestion(target: "https://origin.test/page")
}
