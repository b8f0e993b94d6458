import CacheStore
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One exchange over URLSession: filled by the delegate, read by the caller's task.
final class SessionExchange: Sendable {
  /// What is known when the head is there.
  struct ReceivedHead: Sendable {
    var status: Int
    var fields: HTTPFields
    /// The length of the decoded body where it is known.
    var length: Int64?
  }

  private typealias Waiter = UnsafeContinuation<Void, Never>

  private struct State {
    var head: ReceivedHead?
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
  }

  /// The limit on unread body bytes, on platforms where a transfer can be suspended.
  private static let bufferLimit = 256 << 10

  let request: TransportRequest
  private let timekeeper: any Timekeeper
  private let state: Mutex<State>

  init(_ request: TransportRequest, timekeeper: any Timekeeper) {
    self.request = request
    self.timekeeper = timekeeper
    state = Mutex(State(clock: PhaseClock(limits: request.limits, now: timekeeper.bootNanoseconds)))
  }

  var host: String { request.url.host ?? "" }

  // MARK: The caller's side

  func begin(_ task: URLSessionDataTask) {
    let hasEnded = state.withLock { state in
      state.task = task
      return state.end != nil
    }
    guard !hasEnded else { return }
    enter(.connecting)
    task.resume()
  }

  func head() async throws(DataServiceError) -> ReceivedHead {
    while true {
      let result = state.withLock { state -> Result<ReceivedHead, DataServiceError>? in
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
      let (piece, suspended, end) = state.withLock { state in
        guard state.buffer.isEmpty else {
          let piece = state.buffer
          let suspended = state.isSuspended ? state.task : nil
          state.buffer = Data()
          state.isSuspended = false
          return (piece as Data?, suspended, nil as Result<Void, DataServiceError>?)
        }
        return (nil, nil, state.end)
      }
      if suspended != nil { enter(.receiving) }
      suspended?.resume()
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
      .failure(DataServiceError(.cancelled, "the exchange was cancelled")), stopsTransfer: Self.canStopFreely)
  }

  /// On Linux, cancelling a task that is about to complete hangs or crashes the process, so an abandoned task runs
  /// on, unread.
  private static var canStopFreely: Bool {
    #if canImport(Darwin)
      true
    #else
      false
    #endif
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

  func receive(_ head: ReceivedHead) {
    enter(.receiving)
    let limit = request.limits.bodyBytes
    if let length = head.length, length > limit, request.method != .head, head.status != 304 {
      finish(.failure(tooLarge(limit)), stopsTransfer: true)
      return
    }
    let waiter = state.withLock { state in
      state.head = head
      return state.takeWaiter()
    }
    waiter?.resume()
  }

  /// Stores the head of an answer that was complete before its head was reported.
  func receiveIfMissing(_ head: ReceivedHead) {
    if state.withLock({ $0.head == nil }) { receive(head) }
  }

  func receive(_ piece: Data) {
    let (waiter, total, suspended) = state.withLock { state in
      state.received += Int64(piece.count)
      guard state.end == nil else { return (nil as Waiter?, state.received, nil as URLSessionDataTask?) }
      state.buffer.append(piece)
      var suspended: URLSessionDataTask?
      #if canImport(Darwin)
        // On Linux a suspended task still receives data.
        if state.buffer.count > Self.bufferLimit, !state.isSuspended {
          state.isSuspended = true
          suspended = state.task
        }
      #endif
      return (state.takeWaiter(), state.received, suspended)
    }
    waiter?.resume()
    enter(suspended == nil ? .receiving : .paused)
    suspended?.suspend()
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
    let isShort = state.withLock { state in
      guard let length = state.head?.length, request.method != .head, state.head?.status != 304 else {
        return false
      }
      return state.received < length
    }
    let cutOff = DataServiceError(.truncated, "the response from \(host) was cut off")
    finish(isShort ? .failure(cutOff) : .success(()), stopsTransfer: false)
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
    // URLSession does not say when it has connected: until the head comes, connecting and waiting count together.
    let now = timekeeper.bootNanoseconds
    let needsTimer = state.withLock { state in
      state.clock.enter(phase == .connecting ? .waiting : phase, at: now)
      return state.end == nil && (state.timer == nil || state.clock.deadline.instant < state.timerInstant)
    }
    if needsTimer { arm() }
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
