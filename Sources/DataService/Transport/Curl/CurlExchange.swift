import CacheStore
import Guards
import PlatformFoundation

/// One exchange: filled by the engine on the network thread, read by the caller's task on any thread.
///
/// It ends exactly once: by the end of the transfer, a deadline, a limit, cancellation, or release of the stream.
final class CurlExchange: Sendable {
  typealias Waiter = UnsafeContinuation<Void, Never>

  /// The limit on unread body bytes; one piece of 16 KiB may exceed it.
  private static let bufferLimit = 256 << 10

  private struct State {
    var head: HeadParser.Head?
    var buffer = Data()
    var received: Int64 = 0
    var end: Result<Void, DataServiceError>?
    var waiter: Waiter?
    /// Whether the transfer stands still because the buffer is full.
    var isPaused = false

    mutating func takeWaiter() -> Waiter? {
      defer { waiter = nil }
      return waiter
    }
  }

  let request: TransportRequest
  let origin: Origin
  let url: String
  /// Keeps the thread and the connections alive while a body is read.
  let host: any ExchangeHost
  // The engine's own data; accessed on the network thread only.
  nonisolated(unsafe) var track = ExchangeTrack()
  private let state = Guarded(State())

  init(_ request: TransportRequest, url: String, origin: Origin, host: any ExchangeHost) {
    self.request = request
    self.url = url
    self.origin = origin
    self.host = host
  }

  // MARK: The caller's side

  /// Starts the exchange and waits for the head.
  func head() async throws(DataServiceError) -> HeadParser.Head {
    host.thread.performHere { [self] in host.submit(self) }
    while true {
      let result = state.withLock { state -> Result<HeadParser.Head, DataServiceError>? in
        if let head = state.head { return .success(head) }
        if case .failure(let error) = state.end { return .failure(error) }
        return nil
      }
      if let result { return try result.get() }
      await wait(for: .head)
    }
  }

  /// The next piece of the body; `nil` once it is complete.
  func nextPiece() async throws(DataServiceError) -> Data? {
    if Task.isCancelled { cancel() }
    while true {
      switch takePiece() {
      case .piece(let piece, let wasPaused):
        if wasPaused { host.thread.performHere { [self] in host.resume(self) } }
        return piece
      case .end(let result):
        try result.get()
        return nil
      case .nothingYet: await wait(for: .body)
      }
    }
  }

  private enum Taken {
    case piece(Data, wasPaused: Bool)
    case end(Result<Void, DataServiceError>)
    case nothingYet
  }

  private func takePiece() -> Taken {
    state.withLock { state in
      // Bytes received before a failure are delivered first, so that the download can be resumed.
      guard state.buffer.isEmpty else {
        defer {
          state.buffer = Data()
          state.isPaused = false
        }
        return .piece(state.buffer, wasPaused: state.isPaused)
      }
      return state.end.map { .end($0) } ?? .nothingYet
    }
  }

  /// Ends the exchange, from any thread, without waiting.
  func cancel() {
    guard finish(.failure(DataServiceError(.cancelled, "the exchange was cancelled"))) else { return }
    host.thread.performHere { [self] in host.abandon(self) }
  }

  private enum Event { case head, body }

  /// Suspends until the event may have happened or the exchange has ended.
  private func wait(for event: Event) async {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let waits = state.withLock { state in
          // Checked again under the lock: any later event finds the waiter.
          let hasCome = event == .head ? state.head != nil : !state.buffer.isEmpty
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

  // MARK: The engine's side, on the network thread

  /// Whether it has ended.
  var hasEnded: Bool { state.withLock { $0.end != nil } }

  /// Stores the final head.
  func receive(_ head: HeadParser.Head) {
    let waiter = state.withLock { state in
      state.head = head
      if let length = head.contentLength, !head.isEncoded {
        state.buffer.reserveCapacity(Int(min(length, Int64(Self.bufferLimit))))
      }
      return state.takeWaiter()
    }
    waiter?.resume()
  }

  /// The outcome of offering a piece of the body.
  enum Reception {
    /// Accepted; `total` bytes have been received.
    case taken(total: Int64)
    /// Rejected because the reader is behind. It resumes the transfer when it has caught up.
    case full
    /// The exchange has ended, so there is no reader.
    case ended
  }

  /// Stores a piece of the decoded body.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Reception {
    let (waiter, reception) = state.withLock { state -> (Waiter?, Reception) in
      guard state.end == nil else { return (nil, .ended) }
      guard state.buffer.count < Self.bufferLimit else {
        state.isPaused = true
        return (nil, .full)
      }
      state.received += Int64(bytes.count)
      state.buffer.append(contentsOf: bytes)
      return (state.takeWaiter(), .taken(total: state.received))
    }
    waiter?.resume()
    return reception
  }

  /// Ends the exchange; `false` if it had already ended.
  @discardableResult func finish(_ result: Result<Void, DataServiceError>) -> Bool {
    let (isFirst, waiter) = state.withLock { state in
      guard state.end == nil else { return (false, nil as Waiter?) }
      state.end = result
      if case .failure(let error) = result, error.kind == .cancelled { state.buffer = Data() }
      return (true, state.takeWaiter())
    }
    waiter?.resume()
    return isFirst
  }
}

/// Who carries exchanges out.
protocol ExchangeHost: Sendable {
  /// The thread on which the functions below are called.
  var thread: NetworkThread { get }
  /// Starts an exchange, or puts it in the queue.
  func submit(_ exchange: CurlExchange)
  /// Removes an exchange that has ended.
  func abandon(_ exchange: CurlExchange)
  /// Resumes a transfer whose reader has caught up.
  func resume(_ exchange: CurlExchange)
  /// Whether a connection may carry a request: no input waits on it, if it is a kept one.
  func isClean(_ ends: ConnectionEnds) -> Bool
  /// Records that an exchange has entered a phase, or was active in it.
  func enter(_ phase: PhaseClock.Phase, _ exchange: CurlExchange)
  /// Ends an exchange whose time is over.
  func checkDeadline(_ exchange: CurlExchange)
}

/// The engine's data for an exchange.
struct ExchangeTrack {
  var clock: PhaseClock?
  /// The last recorded phase, and its time.
  var phase: PhaseClock.Phase?
  var entered: Int64 = 0
  var timer: TimerHandle?
  /// When the timer fires.
  var timerInstant: Int64 = 0
  /// Its ticket while it waits in the queue.
  var ticket: ExchangeQueue<CurlExchange>.Ticket?
  var isPaused = false
  /// Whether a kept connection had input waiting, so that a new one is needed.
  var needsFreshConnection = false
}

/// The two ends of a TCP connection, which no other open one has.
struct ConnectionEnds: Equatable {
  let own: String
  let ownPort: Int32
  let peer: String
  let peerPort: Int32
}
