#if os(Linux)
  import CacheStore
  import PlatformFoundation

  /// One exchange: what the engine brings on the network thread, and what the caller's task takes, wherever it runs.
  ///
  /// Ended exactly once: by the transfer's end, a deadline, a limit, the caller's cancel, or the stream being dropped.
  final class CurlExchange: Sendable {
    typealias Waiter = UnsafeContinuation<Void, Never>

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
    let transport: CurlTransport
    // What the engine keeps beside it: touched on the network thread only.
    nonisolated(unsafe) var track = ExchangeTrack()
    private let state = Guarded(State())

    init(_ request: TransportRequest, url: String, origin: Origin, transport: CurlTransport) {
      self.request = request
      self.url = url
      self.origin = origin
      self.transport = transport
    }

    var engine: CurlEngine { transport.engine }

    // MARK: The caller's side

    /// Starts the exchange and waits for the head.
    nonisolated(nonsending) func head() async throws(DataServiceError) -> HeadParser.Head {
      transport.thread.performHere { [self] in engine.submit(self) }
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

    /// The next piece of the body; `nil` once it was whole.
    nonisolated(nonsending) func nextPiece() async throws(DataServiceError) -> Data? {
      if Task.isCancelled { cancel() }
      while true {
        switch takePiece() {
        case .piece(let piece, let wasPaused):
          if wasPaused { transport.thread.performHere { [self] in engine.resume(self) } }
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
        // What came before a failure is handed out first: it can be kept to resume from.
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
      transport.thread.performHere { [self] in engine.abandon(self) }
    }

    private enum Event { case head, body }

    /// Suspends until the event may have come, or the exchange has ended.
    nonisolated(nonsending) private func wait(for event: Event) async {
      await withTaskCancellationHandler {
        await withUnsafeContinuation { continuation in
          let waits = state.withLock { state in
            // Looked at again under the lock: what comes from now on finds the waiter.
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

    /// Takes over the final head.
    func receive(_ head: HeadParser.Head) {
      let waiter = state.withLock { state in
        state.head = head
        if let length = head.contentLength, !head.isEncoded {
          state.buffer.reserveCapacity(Int(min(length, Int64(CurlEngine.bufferLimit))))
        }
        return state.takeWaiter()
      }
      waiter?.resume()
    }

    /// What became of a piece of the body.
    enum Reception {
      /// Taken; so many bytes have come so far.
      case taken(total: Int64)
      /// Not taken, because the reader has not caught up; it asks for more when it has.
      case full
      /// Nobody reads any longer.
      case ended
    }

    /// Takes over a piece of the decoded body.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Reception {
      let (waiter, reception) = state.withLock { state -> (Waiter?, Reception) in
        guard state.end == nil else { return (nil, .ended) }
        guard state.buffer.count < CurlEngine.bufferLimit else {
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

    /// Ends it; `false` where it had ended before.
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

  /// What the engine keeps for an exchange.
  struct ExchangeTrack {
    /// What carries it while it is under way.
    var easy: EasyHandle?
    var clock: PhaseClock?
    /// What was last noted in the clock, and when.
    var phase: PhaseClock.Phase?
    var entered: Int64 = 0
    var timer: TimerHandle?
    /// When the timer fires.
    var timerInstant: Int64 = 0
    /// Its place in the queue while it waits for its turn.
    var ticket: ExchangeQueue<CurlExchange>.Ticket?
    var isPaused = false
  }
#endif
