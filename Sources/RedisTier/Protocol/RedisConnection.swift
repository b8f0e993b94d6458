internal import DataService
internal import PlatformFoundation

/// A connection to a server of the Redis protocol, made at the first call and made again when it has ended.
///
/// Any number of calls may be under way; the server answers them in order. Accessed on the tier's thread only, which
/// justifies `@unchecked Sendable`.
final class RedisConnection: @unchecked Sendable {
  /// Why a call has no replies.
  enum Trouble: Error {
    /// They did not come in time. The connection is gone: a late reply would be taken for another call's.
    case late
    /// There is no connection.
    case unreachable(DataServiceError)
    /// The server does not let this client in, in its words.
    case refused(String)
    /// The bytes received are not in the protocol.
    case malformed
    /// The waiting task was cancelled.
    case cancelled
    /// The connection was closed for good.
    case closed
  }

  /// The credentials and the database of a connection.
  struct Login: Sendable {
    var user = ""
    var password: String?
    var database = 0
  }

  /// Commands sent together, and their replies.
  final class Call: @unchecked Sendable {
    fileprivate let bytes: [UInt8]
    fileprivate let count: Int
    fileprivate var replies: [RESPValue] = []
    fileprivate var isRepeated = false
    fileprivate var timer: TimerHandle?
    fileprivate var result: Result<[RESPValue], Trouble>?
    fileprivate var continuation: UnsafeContinuation<Result<[RESPValue], Trouble>, Never>?

    fileprivate init(_ commands: RESPWriter) {
      (bytes, count) = (commands.bytes, commands.count)
      replies.reserveCapacity(count)
    }

    /// Keeps the first result, and passes it to the waiting task.
    fileprivate func end(_ result: Result<[RESPValue], Trouble>) {
      guard self.result == nil else { return }
      self.result = result
      timer?.cancel()
      continuation?.resume(returning: result)
      continuation = nil
    }
  }

  /// The replies that the server owes before its first reply to a call.
  private enum Greeting { case hello, auth, select }

  private let endpoint: RawEndpoint
  private let login: Login
  private let engine: RawEngine
  private let thread: NetworkThread
  private let timekeeper: any Timekeeper
  private var raw: RawConnection?
  private var reader = RESPReader()
  private var greetings: [Greeting] = []
  /// The number of replies to skip: their commands were sent before the login, and are sent again.
  private var skipped = 0
  /// The calls in the order of their replies.
  private var calls: [Call] = []
  /// Whether this connection has answered a call.
  private var hasAnswered = false
  /// Whether the next call goes out on another connection.
  private var isToBeLeft = false
  private var isClosed = false

  init(
    to endpoint: RawEndpoint, as login: Login, by engine: RawEngine, on thread: NetworkThread,
    timekeeper: any Timekeeper
  ) {
    self.endpoint = endpoint
    self.login = login
    self.engine = engine
    self.thread = thread
    self.timekeeper = timekeeper
  }

  /// Whether a call can be sent without connecting first.
  var isWarm: Bool { hasAnswered && raw?.isOpen ?? false }

  /// Sends commands, and returns their replies; a refusal by the server is a reply like any other.
  func call(
    _ commands: RESPWriter, within limit: Duration
  ) async throws(Trouble) -> [RESPValue] {
    try await replies(to: begin(commands, within: limit))
  }

  /// Sends commands.
  func begin(_ commands: RESPWriter, within limit: Duration) -> Call {
    let call = Call(commands)
    guard !isClosed else {
      call.end(.failure(.closed))
      return call
    }
    if isToBeLeft, calls.isEmpty {
      raw?.close()
      raw = nil
    }
    calls.append(call)
    if let raw {
      if raw.isOpen { raw.write(call.bytes) }
    } else {
      connect()
    }
    call.timer = timekeeper.after(limit) { [thread, weak self] in
      let connection = self
      thread.performHere { connection?.expire(call) }
    }
    return call
  }

  /// Waits for the replies to a call. A task that is cancelled waits no longer; the connection then awaits them alone.
  func replies(to call: Call) async throws(Trouble) -> [RESPValue] {
    let result = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        if let result = call.result {
          continuation.resume(returning: result)
        } else if Task.isCancelled {
          // The handler below has found no continuation to resume.
          continuation.resume(returning: .failure(.cancelled))
        } else {
          call.continuation = continuation
        }
      }
    } onCancel: {
      thread.performHere { call.continuation.take()?.resume(returning: .failure(.cancelled)) }
    }
    return try result.get()
  }

  /// Connects again at the next call, once those under way have their replies: the address may lead to another server
  /// by then.
  func leave() { isToBeLeft = true }

  /// Closes it for good. Calls under way end with `closed`.
  func close() {
    isClosed = true
    drop(.closed)
  }

  // MARK: The connection

  private func connect() {
    reader = RESPReader()
    greetings = []
    skipped = 0
    hasAnswered = false
    isToBeLeft = false
    let raw = RawConnection(to: endpoint, by: engine, on: thread) { [weak self] event in
      self?.handle(event)
    }
    self.raw = raw
    raw.open()
  }

  private func handle(_ event: RawConnection.Event) {
    switch event {
    case .opened: raw?.write(newGreeting() + calls.flatMap(\.bytes))
    case .received(let bytes): take(bytes)
    case .ended(let error): hasEnded(error)
    }
  }

  /// The first commands of a connection, which go out in one piece with the first call.
  private func newGreeting() -> [UInt8] {
    var writer = RESPWriter()
    var hello = ["HELLO", "3"]
    if let password = login.password {
      hello += ["AUTH", login.user.isEmpty ? "default" : login.user, password]
    }
    writer.write(hello)
    greetings = [.hello]
    select(&writer)
    return writer.bytes
  }

  /// What a server before version 6 understands in place of `HELLO`.
  private func oldGreeting(_ password: String) -> [UInt8] {
    var writer = RESPWriter()
    writer.write(["AUTH"] + (login.user.isEmpty ? [] : [login.user]) + [password])
    greetings = [.auth]
    select(&writer)
    return writer.bytes
  }

  private func select(_ writer: inout RESPWriter) {
    guard login.database != 0 else { return }
    writer.write(["SELECT", "\(login.database)"])
    greetings.append(.select)
  }

  private func take(_ bytes: UnsafeRawBufferPointer) {
    let connection = raw
    let (replies, problem) = reader.replies(with: bytes)
    for reply in replies {
      take(reply)
      guard raw != nil, raw === connection else { return }
    }
    if problem != nil { drop(.malformed) }
  }

  private func take(_ reply: RESPValue) {
    if case .push = reply { return }
    if skipped > 0 {
      skipped -= 1
      return
    }
    if !greetings.isEmpty { return greeted(greetings.removeFirst(), reply) }
    guard let call = calls.first else { return drop(.malformed) }
    hasAnswered = true
    call.replies.append(reply)
    guard call.replies.count == call.count else { return }
    calls.removeFirst()
    call.end(.success(call.replies))
  }

  private func greeted(_ greeting: Greeting, _ reply: RESPValue) {
    guard let text = reply.failure else { return }
    guard greeting == .hello, text.hasPrefix("NOPROTO") || text.contains("unknown command") else {
      return drop(.refused(text))
    }
    // Without a password the server has already accepted the commands that followed.
    guard let password = login.password else { return }
    skipped = greetings.count + calls.reduce(0) { $0 + $1.count }
    raw?.write(oldGreeting(password) + calls.flatMap(\.bytes))
  }

  private func hasEnded(_ error: DataServiceError) {
    raw = nil
    // A server closes connections that have long been idle, perhaps just as a call is sent.
    let isRepeatable =
      hasAnswered && error.kind == .disconnected && calls.allSatisfy { !$0.isRepeated && $0.replies.isEmpty }
    guard isRepeatable, !calls.isEmpty, !isClosed else { return drop(.unreachable(error)) }
    for call in calls { call.isRepeated = true }
    connect()
  }

  private func expire(_ call: Call) {
    if calls.contains(where: { $0 === call }) { drop(.late) }
  }

  private func drop(_ trouble: Trouble) {
    raw?.close()
    raw = nil
    let ended = calls
    calls = []
    for call in ended { call.end(.failure(trouble)) }
  }
}
