import CacheStore
import Guards
import PlatformNetworking

/// One exchange over URLSession: filled by the delegate, read by the caller's task.
final class SessionExchange: Sendable {
  /// What is known when the head is there.
  struct SessionHead: Sendable {
    var status: Int
    var fields: HTTPFields
    /// The length of the decoded body where it is known.
    var length: Int64?
  }

  private typealias Waiter = UnsafeContinuation<Void, Never>

  private struct State {
    var head: SessionHead?
    /// The bytes and the fields of all heads so far, 1xx ones included.
    var headBytes = 0
    var fieldCount = 0
    var buffer = Data()
    var received: Int64 = 0
    var end: Result<Void, DataServiceError>?
    var waiter: Waiter?
    var clock: PhaseClock
    var timer: TimerHandle?
    /// When the timer fires.
    var timerInstant: Int64 = 0
    var task: URLSessionDataTask?
    var isSuspended = false

    mutating func takeWaiter() -> Waiter? {
      defer { waiter = nil }
      return waiter
    }

    /// Enters a phase, or records activity in it.
    /// - Returns: Whether the timer has to be set anew.
    mutating func enter(_ phase: PhaseClock.Phase, at now: Int64) -> Bool {
      clock.enter(phase, at: now)
      return end == nil && (timer == nil || clock.deadline.instant < timerInstant)
    }
  }

  /// The limit on unread body bytes, on platforms where a transfer can be suspended.
  private static let bufferLimit = 256 << 10

  let request: TransportRequest
  private let timekeeper: any Timekeeper
  private let state: Guarded<State>

  init(_ request: TransportRequest, timekeeper: any Timekeeper) {
    self.request = request
    self.timekeeper = timekeeper
    state = Guarded(State(clock: PhaseClock(limits: request.limits, now: timekeeper.bootNanoseconds)))
  }

  var host: String { request.url.host ?? "" }

  private var bodyLength: Int64 { Int64(request.body?.count ?? 0) }

  // MARK: The caller's side

  func begin(_ task: URLSessionDataTask) {
    let hasEnded = state.withLock { state in
      state.task = task
      return state.end != nil
    }
    guard !hasEnded else { return }
    // URLSession does not say when it has connected, so that this counts for what comes after it.
    enter(bodyLength > 0 ? .sending : .waiting)
    task.resume()
  }

  func head() async throws(DataServiceError) -> SessionHead {
    while true {
      let result = state.withLock { state -> Result<SessionHead, DataServiceError>? in
        if let head = state.head { return .success(head) }
        if case .failure(let error) = state.end { return .failure(error) }
        return nil
      }
      if let result { return try result.get() }
      await wait(forHead: true)
    }
  }

  func nextPiece() async throws(DataServiceError) -> Data? {
    if Task.isCancelled { cancel() }
    while true {
      let now = timekeeper.bootNanoseconds
      let (piece, needsTimer, end) = state.withLock { state in
        guard state.buffer.isEmpty else {
          let piece = state.buffer
          var needsTimer = false
          state.buffer = Data()
          if state.isSuspended {
            // Under the lock, as suspending is: resuming a task that is yet to be suspended has no effect.
            state.isSuspended = false
            state.task?.resume()
            needsTimer = state.enter(.receiving, at: now)
          }
          return (piece as Data?, needsTimer, nil as Result<Void, DataServiceError>?)
        }
        return (nil, false, state.end)
      }
      if needsTimer { arm() }
      if let piece { return piece }
      if let end {
        try end.get()
        return nil
      }
      await wait(forHead: false)
    }
  }

  /// Ends the exchange for the caller.
  func cancel() {
    finish(
      .failure(DataServiceError(.cancelled, "the exchange was cancelled")), stopsTransfer: tasksCanBeStopped)
  }

  private func wait(forHead: Bool) async {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let waits = state.withLock { state in
          let hasCome = forHead ? state.head != nil : !state.buffer.isEmpty
          guard !hasCome, state.end == nil else { return false }
          state.waiter = continuation
          return true
        }
        if !waits { continuation.resume() }
      }
    } onCancel: {
      cancel()
    }
  }

  // MARK: The delegate's side

  /// Records that `total` bytes of the request's body have been taken.
  func sent(_ total: Int64) {
    let now = timekeeper.bootNanoseconds
    let needsTimer = state.withLock { state in
      // An answer may come before its request is sent; from then on this is a sign of life only.
      let isAnswered = state.head != nil
      let phase: PhaseClock.Phase = total < bodyLength ? .sending : .waiting
      return state.enter(isAnswered ? state.clock.phase : phase, at: now)
    }
    if needsTimer { arm() }
  }

  /// Receives a head; a 1xx one, which URLSession on Linux reports too, is not the answer.
  func receive(_ head: SessionHead) {
    enter(.receiving)
    let (bytes, count) = state.withLock { state in
      state.headBytes += head.fields.wire.count
      state.fieldCount += head.fields.count
      return (state.headBytes, state.fieldCount)
    }
    if let reason = refusal(of: head, bytes: bytes, count: count) {
      let error = DataServiceError(
        .protocol, "the headers of the response from \(host) are not acceptable: \(reason)")
      finish(.failure(error), stopsTransfer: tasksCanBeStopped)
      return
    }
    guard head.status >= 200 else { return }
    let limit = request.limits.bodyBytes
    if let length = head.length, length > limit, expectsBody(head) {
      finish(.failure(tooLarge(limit)), stopsTransfer: true)
      return
    }
    let waiter = state.withLock { state in
      state.head = head
      return state.takeWaiter()
    }
    waiter?.resume()
  }

  /// Why a head is not acceptable, given the size and number of all fields so far; `nil` where it is.
  private func refusal(of head: SessionHead, bytes: Int, count: Int) -> String? {
    let limits = request.limits
    if bytes > limits.fieldSectionBytes {
      return "the headers are larger than \(limits.fieldSectionBytes) bytes"
    }
    if count > limits.fieldCount { return "there are more than \(limits.fieldCount) headers" }
    return head.status == 101 ? "101 (Switching Protocols) without having been asked" : nil
  }

  /// Whether a body follows the head, whatever its fields say (RFC 9112 section 6.3).
  private func expectsBody(_ head: SessionHead) -> Bool {
    request.method != .head && head.status != 204 && head.status != 304
  }

  /// Receives the head of an answer that was complete before its head was reported.
  func receiveIfMissing(_ head: SessionHead) {
    if state.withLock({ $0.head == nil }) { receive(head) }
  }

  func receive(_ piece: Data) {
    let now = timekeeper.bootNanoseconds
    let (waiter, total, needsTimer) = state.withLock { state in
      state.received += Int64(piece.count)
      guard state.end == nil else {
        return (nil as Waiter?, state.received, state.enter(.receiving, at: now))
      }
      state.buffer.append(piece)
      if tasksCanBeStopped, state.buffer.count > Self.bufferLimit, !state.isSuspended {
        state.isSuspended = true
        state.task?.suspend()
      }
      let needsTimer = state.enter(state.isSuspended ? .paused : .receiving, at: now)
      return (state.takeWaiter(), state.received, needsTimer)
    }
    waiter?.resume()
    if needsTimer { arm() }
    let limit = request.limits.bodyBytes
    if total > limit { finish(.failure(tooLarge(limit)), stopsTransfer: true) }
  }

  func complete(_ error: (any Error)?) {
    state.withLock { state in
      state.timer?.cancel()
      state.timer = nil
    }
    if let error {
      finish(
        .failure(.urlSession(error, host: host, hasHead: state.withLock { $0.head != nil })),
        stopsTransfer: false)
      return
    }
    let result = state.withLock { state -> Result<Void, DataServiceError> in
      guard let head = state.head else {
        // On Linux a redirect that comes after a 1xx head is not reported; that head stands for it.
        return .failure(DataServiceError(.protocol, "URLSession did not report the response from \(host)"))
      }
      guard let length = head.length, expectsBody(head), state.received < length else { return .success(()) }
      return .failure(DataServiceError(.truncated, "the response from \(host) was cut off"))
    }
    finish(result, stopsTransfer: false)
  }

  private func tooLarge(_ limit: Int64) -> DataServiceError {
    DataServiceError(
      .tooLarge, "the response from \(host) is larger than \(limit) bytes", hint: "allow a larger body")
  }

  /// Ends the exchange once. The timer stays where the transfer runs on, so that it is bounded still.
  private func finish(_ result: Result<Void, DataServiceError>, stopsTransfer: Bool) {
    let (waiter, task, timer) = state.withLock { state in
      let task = stopsTransfer ? state.task : nil
      let timer = stopsTransfer ? state.timer : nil
      guard state.end == nil else { return (nil as Waiter?, task, timer) }
      state.end = result
      if case .failure = result { state.buffer = Data() }
      return (state.takeWaiter(), task, timer)
    }
    timer?.cancel()
    waiter?.resume()
    task?.cancel()
  }

  // MARK: Deadlines

  private func enter(_ phase: PhaseClock.Phase) {
    let now = timekeeper.bootNanoseconds
    if state.withLock({ $0.enter(phase, at: now) }) { arm() }
  }

  /// Sets the timer for the next deadline. One that fires too early, because something has happened since, is set
  /// again then.
  private func arm() {
    let now = timekeeper.bootNanoseconds
    let instant = state.withLock { $0.clock.deadline.instant }
    let timer = timekeeper.after(.nanoseconds(max(0, instant - now))) { [weak self] in self?.checkDeadline() }
    let old = state.withLock { state in
      defer {
        state.timer = timer
        state.timerInstant = instant
      }
      return state.timer
    }
    old?.cancel()
  }

  private func checkDeadline() {
    let (instant, phase) = state.withLock { state in
      state.timer = nil
      return state.clock.deadline
    }
    if instant <= timekeeper.bootNanoseconds {
      finish(.failure(.timeout(phase, host: host, limits: request.limits)), stopsTransfer: true)
    } else {
      arm()
    }
  }
}
