internal import CacheStore
internal import DataService
internal import PlatformFoundation

/// The server of a tier: the connections to it, whether it is asked, what it says and its time.
///
/// After ``attach(to:)`` everything happens on a thread of its own, which justifies `@unchecked Sendable`.
final class TierServer: @unchecked Sendable {
  let address: RedisAddress
  /// The thread of the connections, which starts with the first question.
  let thread = NetworkThread()
  private let engine = RawEngine()
  private(set) var host: TierHost?
  private var link: Link?
  private var linkFailure: (instant: Int64, text: String)?
  private var isClosed = false
  private var silence: Silence
  /// The patience over an open connection.
  private let halfOfPatience: Duration
  private var clock = TierClock()
  private var warned: Set<String> = []
  private static let warningLimit = 32
  /// How many values there were, and how many of them opened.
  private(set) var seen = 0
  private(set) var opened = 0

  /// How many pieces of a body are under way at once.
  static let pieceWindow = 4
  /// How long a piece is waited for, which has others before it on the same connection.
  var pieceLimit: Duration { address.patience * Self.pieceWindow }

  static let rightsRemedy = "check the tier's user, its password and its rights"

  /// What a tier works with once its files are read.
  struct Link {
    let keys: TierKeys
    let connection: RedisConnection
    /// For the pieces of long bodies, so that no question waits behind them. Made at the first piece.
    let pieceConnection: RedisConnection

    func close() {
      connection.close()
      pieceConnection.close()
    }
  }

  /// Why the tier has no answer.
  struct Unavailable: Error {
    let reason: String
  }

  init(_ address: RedisAddress) {
    self.address = address
    halfOfPatience = address.patience / 2
    silence = Silence(patience: address.patience.clampedNanoseconds)
  }

  deinit {
    // A thread that has ended has closed the connections.
    guard let link, thread.isRunning else { return }
    thread.perform { link.close() }
  }

  func attach(to host: TierHost) { self.host = host }

  /// Does something on the thread. A preference for it that a caller's task only takes on would begin elsewhere.
  func run<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) async -> Value {
    let task = Task(executorPreference: thread) { await work() }
    return await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
  }

  func close() {
    guard thread.isRunning else {
      isClosed = true
      return
    }
    thread.performHere { [self] in
      isClosed = true
      link?.close()
      link = nil
    }
  }

  // MARK: Files and the connection

  /// Reads the files if they have not been read, and reports what is wrong with them.
  func prepare() throws(Unavailable) -> (Link, TierHost) {
    guard let host, !isClosed else { throw Unavailable(reason: "it was closed") }
    if let link { return (link, host) }
    let now = host.timekeeper.bootNanoseconds
    if let linkFailure, now - linkFailure.instant < Silence.shortest {
      throw Unavailable(reason: linkFailure.text)
    }
    do throws(Unavailable) {
      let link = try read(host)
      self.link = link
      return (link, host)
    } catch {
      linkFailure = (now, error.reason)
      throw error
    }
  }

  private func read(_ host: TierHost) throws(Unavailable) -> Link {
    let keys = try secret("key-file", address.keyFile) { path throws(SecretFile.Problem) in
      try TierKeys(FleetKey.keys(in: SecretFile.text(of: path)))
    }
    guard let keys else { throw Unavailable(reason: "there is no key") }
    var login = RedisConnection.Login(user: address.user, database: address.database)
    if let file = address.passwordFile {
      login.password = try secret("password-file", file) { path throws(SecretFile.Problem) in
        try SecretFile.line(of: path)
      }
    }
    func connection() -> RedisConnection {
      RedisConnection(
        to: address.endpoint, as: login, by: engine, on: thread, timekeeper: host.timekeeper)
    }
    return Link(keys: keys, connection: connection(), pieceConnection: connection())
  }

  private func secret<Value>(
    _ name: String, _ path: String, _ read: (String) throws(SecretFile.Problem) -> Value
  ) throws(Unavailable) -> Value {
    do throws(SecretFile.Problem) {
      return try read(path)
    } catch {
      let text = "its \(name) \(path) is not used: \(error.text)"
      warn(text, remedy: error.remedy)
      throw Unavailable(reason: text)
    }
  }

  // MARK: Silence

  /// Whether the tier may be asked now, and what it works with.
  func admit() throws(Unavailable) -> (Link, TierHost) {
    let (link, host) = try prepare()
    switch changeMark(host, { silence.decide(at: host.timekeeper.bootNanoseconds, mark: &$0) }) {
    case .ask: return (link, host)
    case .silent(let rest):
      throw Unavailable(reason: "it did not answer, and is asked again in \(rest / 1_000_000) ms")
    }
  }

  private func changeMark<Result>(_ host: TierHost, _ change: (inout Int64) -> Result) -> Result {
    let before = host.silence.read()
    var mark = before
    defer { if mark != before { host.silence.write(mark) } }
    return change(&mark)
  }

  /// Sends commands, and decides by the result whether the tier is still asked.
  /// - Parameters:
  ///   - link: The connection.
  ///   - host: The machine.
  ///   - deadline: The instant at which the call stops waiting. In any case it waits no longer than the
  ///     patience, or half of it where there is a connection.
  func call(
    _ commands: RESPWriter, over link: Link, _ host: TierHost, until deadline: Int64? = nil
  ) async throws(Unavailable) -> [RESPValue] {
    var limit = link.connection.isWarm ? halfOfPatience : address.patience
    let sent = host.timekeeper.bootNanoseconds
    if let deadline { limit = min(limit, .nanoseconds(max(1, deadline - sent))) }
    let call = link.connection.begin(commands, within: limit)
    return try await replies(to: call, over: link.connection, sent: sent, limit, host)
  }

  /// Waits for the replies to a call, and decides by them whether the tier is still asked.
  func replies(
    to call: RedisConnection.Call, over connection: RedisConnection, sent: Int64, _ limit: Duration,
    _ host: TierHost
  ) async throws(Unavailable) -> [RESPValue] {
    do throws(RedisConnection.Trouble) {
      let replies = try await connection.replies(to: call)
      let now = host.timekeeper.bootNanoseconds
      if let text = replies.lazy.compactMap(\.failure).first(where: Self.isOutOfService) {
        // After a fail-over its successor may be at the same address.
        connection.leave()
        if !Self.isReadOnly(text) { throw RedisConnection.Trouble.refused(text) }
      }
      let isSlow = now - sent > limit.clampedNanoseconds / 2
      changeMark(host) { silence.answered(at: now, isSlow: isSlow, mark: &$0) }
      return replies
    } catch {
      throw silenced(by: error, host)
    }
  }

  /// Whether an error says that the server cannot do anything now, or is not the one to be asked.
  private static func isOutOfService(_ text: String) -> Bool {
    passes(text) || isElsewhere(text) || text.hasPrefix("NOAUTH") || isReadOnly(text)
  }

  /// Whether a server says that it is read-only, as one that has become a replica does. From within a script
  /// the word is not the first.
  private static func isReadOnly(_ text: String) -> Bool { text.contains("READONLY") }

  private static func isFull(_ text: String) -> Bool { text.contains("OOM") }

  /// Whether a node of a cluster says that another one has the key.
  private static func isElsewhere(_ text: String) -> Bool {
    ["MOVED ", "ASK "].contains { text.hasPrefix($0) }
  }

  private func silenced(by trouble: RedisConnection.Trouble, _ host: TierHost) -> Unavailable {
    let reason: String
    switch trouble {
    case .cancelled: return Unavailable(reason: "the request was cancelled")
    case .closed: return Unavailable(reason: "it was closed")
    case .late: reason = "it did not answer in time"
    case .malformed: reason = "it does not speak the Redis protocol"
    case .unreachable(let error) where error.kind == .closed: return Unavailable(reason: "it was closed")
    // A problem of this process alone must not silence the tier for others.
    case .unreachable(let error) where [.other, .libraryMissing].contains(error.kind):
      return Unavailable(reason: error.message)
    case .unreachable(let error): reason = error.message
    case .refused(let text):
      reason = "it says: \(Self.shortened(text))"
      if Self.isElsewhere(text) {
        // Without the server's words, which differ for each key.
        warn("it is a node of a cluster", remedy: "name a server outside of it")
      } else if !Self.passes(text) {
        warn(reason, remedy: Self.rightsRemedy)
      }
    }
    fall(silent: reason, host)
    return Unavailable(reason: reason)
  }

  /// Whether the server reports a state that ends by itself.
  private static func passes(_ text: String) -> Bool {
    ["LOADING", "BUSY ", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"].contains { text.hasPrefix($0) }
  }

  func fall(silent reason: String, _ host: TierHost) {
    host.trace("tier \(address.name): silent, \(reason)")
    changeMark(host) { silence.failed(at: host.timekeeper.bootNanoseconds, mark: &$0) }
  }

  /// Counts a value, and whether it opened.
  func count(opened isOpen: Bool, _ host: TierHost) {
    seen += 1
    if isOpen {
      opened += 1
    } else if silence.didNotOpen(at: host.timekeeper.bootNanoseconds) {
      warn("its values do not open", remedy: "the machines of a fleet need the same key file")
      fall(silent: "its values do not open", host)
    }
  }

  /// Warns of something once, and of no more than ``warningLimit`` things: a server chooses its words. That it is full or
  /// read only one process in a minute says, of all on the store.
  func warn(_ text: String, remedy: String? = nil) {
    guard warned.count < Self.warningLimit, warned.insert(text).inserted else { return }
    guard !(Self.isFull(text) || Self.isReadOnly(text)) || host?.takesWarning() != false else { return }
    host?.warn(
      DataService.Warning(
        kind: .other, message: "the tier \(address.name) is not used as it could be: \(text)",
        remedy: remedy.map { Remedy($0) }))
  }

  /// A server's words, cut to one line.
  static func shortened(_ text: String) -> String {
    String(text.prefix(200).filter { !$0.isNewline })
  }

  /// What helps against a refusal, in the server's words; `nil` where nothing is known.
  static func remedy(for text: String) -> String? {
    if isFull(text) {
      return "give the server more memory, or let it evict (maxmemory-policy allkeys-lfu)"
    }
    if isReadOnly(text) { return "name the server that may be written, or say that the tier is read only" }
    // Within a script the server has other words for it.
    if text.contains("NOPERM") || text.contains("can't run this command") {
      return "allow the user to write, or say that the tier is read only"
    }
    return nil
  }

  // MARK: Scripts and time

  /// The command that runs a script by its digest.
  static func run(_ script: Scripts.Script, _ target: TierNames.Target, _ arguments: [[UInt8]] = [])
    -> [[UInt8]]
  {
    [Array("EVALSHA".utf8), script.digest, [0x32], Array(target.row.utf8), Array(target.tombstone.utf8)]
      + arguments
  }

  /// The reply of a script, which is loaded first where the server does not have it.
  func reply(
    _ first: RESPValue, to script: Scripts.Script, _ command: [[UInt8]], over link: Link, _ host: TierHost
  ) async throws(Unavailable) -> RESPValue {
    guard let text = first.failure, text.hasPrefix("NOSCRIPT") else { return first }
    let load = ["SCRIPT", "LOAD", script.text].map { Array($0.utf8) }
    return try await call(RESPWriter([load, command]), over: link, host).last ?? .null
  }

  /// Learns the time from a script's reply, and returns its second number; `nil` if it is no such reply.
  func learn(_ reply: RESPValue, sent: Int64, _ host: TierHost) -> (time: Int64, number: Int64)? {
    guard let numbers = reply.elements, numbers.count == 2, let time = numbers[0].number,
      let number = numbers[1].number, TierClock.isTime(time),
      TierClock.isNear(time, host.timekeeper.wallMilliseconds), number >= 0
    else { return nil }
    learn(time: time, sent: sent, received: host.timekeeper.bootNanoseconds)
    return (time, number)
  }

  /// Learns the tier's time, in microseconds.
  func learn(time: Int64, sent: Int64, received: Int64) {
    clock.learn(tierMicroseconds: time, sent: sent, received: received)
  }

  /// A ticket's instant on the local clock.
  func instant(of ticket: Int64, notAfter limit: Int64) -> Int64 {
    clock.instant(of: ticket, notAfter: limit)
  }

  /// The tier's time now, in microseconds.
  func tierTime(_ host: TierHost) -> Int64? { clock.tierMicroseconds(at: host.timekeeper.bootNanoseconds) }
}
