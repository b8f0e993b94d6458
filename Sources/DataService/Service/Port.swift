internal import Dispatch
internal import Guards
internal import PlatformFoundation

/// Where a load's deliveries go: in order, one at a time (law 2), none after ``close()`` (law 11). Read by an iterator, or
/// told to a callback on a queue or on the delivering thread.
final class Port<Value: Sendable>: Sendable {
  typealias Delivery = DataService.Delivery<Value>
  private typealias Reader = UnsafeContinuation<Delivery?, Never>
  private typealias Waiter = UnsafeContinuation<Void, Never>

  /// A callback; a reader has none.
  struct Callback: Sendable {
    /// Serial; `nil` for the delivering thread.
    let queue: DispatchQueue?
    let deliver: @Sendable (Delivery) -> Void
    let ended: (@Sendable () -> Void)?
  }

  private struct State {
    /// The load that a reader cancels, while it is not over.
    var load: (any AnyLoad)?
    var unread: [Delivery] = []
    var reader: Reader?
    /// Whether a reader has begun the load, or never will.
    var hasBegun = false
    var isClosed = false
    /// Whether the last delivery was handed over, and its callback has run.
    var isAtEnd = false
    /// Whether the load is over: delivered or cancelled, and stored or given up.
    var isOver = false
    /// Those who wait for that, and those who wait for the callbacks too.
    var overs: [Waiter] = []
    var finishers: [Waiter] = []

    var isFinished: Bool { isOver && (isAtEnd || isClosed) }

    /// What a reader gets at once: a delivery, or the end; the outer `nil` where it has to wait.
    mutating func take() -> Delivery?? {
      if !unread.isEmpty { return .some(unread.removeFirst()) }
      return isFinished ? .some(nil) : nil
    }
  }

  private let state = Guarded(State())
  private let callback: Callback?

  init(_ callback: Callback? = nil) { self.callback = callback }

  // MARK: - The load's side

  /// Notes the load, before it can deliver.
  /// - Returns: Whether it is still wanted.
  func begin(_ load: any AnyLoad) -> Bool {
    state.withLock { state in
      state.load = load
      return !state.isClosed
    }
  }

  /// Hands on what a load puts out. Called by one thread at a time.
  func take(_ output: LoadOutput<Value>) {
    switch output {
    case .delivery(let delivery): deliver(delivery)
    case .end: end()
    }
  }

  func deliver(_ delivery: Delivery) {
    guard let callback else { return hold(delivery) }
    guard let queue = callback.queue else { return call(delivery, callback) }
    queue.async { self.call(delivery, callback) }
  }

  /// Law 11 is asked where the callback runs: what waits on the queue must hear of a `close()` there.
  private func call(_ delivery: Delivery, _ callback: Callback) {
    if mayCall { callback.deliver(delivery) }
  }

  private var mayCall: Bool { state.withLock { !$0.isClosed } }

  private func hold(_ delivery: Delivery) {
    let reader = state.withLock { state -> Reader? in
      guard !state.isClosed else { return nil }
      if state.reader == nil { state.unread.append(delivery) }
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume(returning: delivery)
  }

  /// Progress reports where the callbacks run.
  func reporting(
    _ progress: @escaping @Sendable (DataService.TransferProgress) -> Void
  ) -> @Sendable (DataService.TransferProgress) -> Void {
    guard let queue = callback?.queue else { return progress }
    return { update in queue.async { if self.mayCall { progress(update) } } }
  }

  /// Says that the last delivery was handed on.
  func end() {
    guard let queue = callback?.queue else { return callEnded() }
    queue.async { self.callEnded() }
  }

  private func callEnded() {
    callback?.ended?()
    settle { $0.isAtEnd = true }
  }

  /// Says that the load is over.
  func finish() {
    settle { state in
      state.isOver = true
      state.load = nil
    }
  }

  /// Makes a change, and wakes those who wait for it.
  private func settle(_ change: (inout State) -> Void) {
    let (reader, waiters) = state.withLock { state -> (Reader?, [Waiter]) in
      change(&state)
      guard state.isOver else { return (nil, []) }
      defer { state.overs = [] }
      guard state.isFinished else { return (nil, state.overs) }
      defer { (state.reader, state.finishers) = (nil, []) }
      return (state.reader, state.overs + state.finishers)
    }
    reader?.resume(returning: nil)
    for waiter in waiters { waiter.resume() }
  }

  // MARK: - The caller's side

  /// Nothing is handed on that has not begun by now.
  func close() {
    // Released outside the lock, since a `deinit` may run the caller's code.
    let dropped = state.withLock { state -> [Delivery] in
      state.isClosed = true
      defer { state.unread = [] }
      return state.unread
    }
    withExtendedLifetime(dropped) {}
    settle { _ in }
  }

  /// Returns once the load is over. A sign-out and a closing wait for that alone: who waits on the main thread for a
  /// closing would wait for its callbacks for ever.
  func over() async {
    await withUnsafeContinuation { waiter in
      let isOver = state.withLock { state in
        if !state.isOver { state.overs.append(waiter) }
        return state.isOver
      }
      if isOver { waiter.resume() }
    }
  }

  /// Returns once the load is over and its callbacks have run.
  func finished() async {
    await withUnsafeContinuation { waiter in
      let isFinished = state.withLock { state in
        if !state.isFinished { state.finishers.append(waiter) }
        return state.isFinished
      }
      if isFinished { waiter.resume() }
    }
  }

  // MARK: - The reader

  /// The next delivery, once `begin` has begun the load; `nil` at the end, once what the load had to store is stored or
  /// given up. Nothing is begun for a task that is cancelled.
  func next(beginning begin: @Sendable (Port) -> Void) async -> Delivery? {
    if !Task.isCancelled {
      if isToBegin { begin(self) }
      // The stored delivery is nearly always there already, and so is the end after it.
      if let taken = state.withLock({ $0.take() }) { return taken }
    }
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let taken = state.withLock { state -> Delivery?? in
          let taken = state.take()
          if taken == nil { state.reader = continuation }
          return taken
        }
        if let taken { continuation.resume(returning: taken) }
      }
    } onCancel: {
      cancel()
    }
  }

  private var isToBegin: Bool {
    state.withLock { state in
      defer { state.hasBegun = true }
      return !state.hasBegun
    }
  }

  /// Cancels the reader's load, and drops what is unread.
  private func cancel() {
    let load = state.withLock { state -> (any AnyLoad)? in
      state.isClosed = true
      if !state.hasBegun { (state.hasBegun, state.isOver) = (true, true) }
      return state.load
    }
    close()
    load?.cancel()
  }

  /// Drops what is unread, and cancels the load, unless all was delivered: it may still store.
  func leave() {
    if state.withLock({ $0.isAtEnd }) { close() } else { cancel() }
  }
}

/// What a load puts out: deliveries in order, then the end of the deliveries.
enum LoadOutput<Value: Sendable>: Sendable {
  case delivery(DataService.Delivery<Value>)
  case end
}
