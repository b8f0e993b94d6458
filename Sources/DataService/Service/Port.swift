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
    /// Serial; `nil` for the delivering thread, where callbacks only pass the delivery on.
    let queue: DispatchQueue?
    let deliver: @Sendable (Delivery) -> Void
    let ended: (@Sendable () -> Void)?

    /// Callbacks one at a time and in order, on a queue that may be concurrent, and does not reveal it.
    init(
      queue: DispatchQueue? = nil, deliver: @escaping @Sendable (Delivery) -> Void,
      ended: (@Sendable () -> Void)? = nil
    ) {
      self.queue = queue.map { DispatchQueue(label: "cachefetch.callbacks", target: $0) }
      self.deliver = deliver
      self.ended = ended
    }
  }

  private struct State {
    /// The load that a reader cancels, while it is not over.
    var load: (any AnyLoad)?
    var waiting: [Delivery] = []
    var reader: Reader?
    /// Whether a reader has begun the load, or never will.
    var hasBegun = false
    /// Whether anything was delivered, and whether the last delivery was.
    var hasDelivered = false
    /// Whether a fresh response or a failure was.
    var hasAnswered = false
    var isComplete = false
    /// Whether the end was called.
    var isEndCalled = false
    /// Whether a thread hands on what waits, where callbacks run on the delivering one.
    var isAttended = false
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
      if !waiting.isEmpty { return .some(waiting.removeFirst()) }
      return isFinished ? .some(nil) : nil
    }

    /// Puts a delivery in its place in the order.
    mutating func place(_ delivery: Delivery, isInline: Bool) -> Placed {
      guard !isClosed, !isComplete else { return .nowhere }
      hasDelivered = true
      if case .stored = delivery {} else { hasAnswered = true }
      if let reader {
        self.reader = nil
        return .read(reader)
      }
      if isInline, !isAttended {
        isAttended = true
        return .first
      }
      waiting.append(delivery)
      return .waiting
    }
  }

  /// Where a delivery was put.
  private enum Placed {
    case nowhere, waiting
    /// With nobody before it, so that the caller hands it on.
    case first
    /// With a reader who waits.
    case read(Reader)
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

  /// Delivers where nothing was delivered yet: the stored response, from the thread that began the load. The network
  /// thread may have gone on without it.
  /// - Returns: Whether it did.
  func deliverFirst(_ delivery: Delivery) -> Bool {
    let placed = state.withLock { $0.hasDelivered ? .nowhere : $0.place(delivery, isInline: isInline) }
    if case .nowhere = placed { return false }
    handOn(delivery, placed)
    return true
  }

  func deliver(_ delivery: Delivery) {
    handOn(delivery, state.withLock { $0.place(delivery, isInline: isInline) })
  }

  /// Whether the callbacks run on a queue.
  var callsOnQueue: Bool { callback?.queue != nil }

  /// Whether the callbacks run on the delivering thread.
  private var isInline: Bool { callback?.queue == nil && callback != nil }

  private func handOn(_ delivery: Delivery, _ placed: Placed) {
    switch placed {
    case .nowhere: break
    case .read(let reader): reader.resume(returning: delivery)
    case .waiting: if let callback { attend(callback) }
    case .first:
      guard let callback else { return }
      callback.deliver(delivery)
      while callNext(callback) {}
    }
  }

  /// Says that the last delivery was made.
  func end() {
    state.withLock { $0.isComplete = true }
    if let callback { attend(callback) } else { settle { $0.isAtEnd = true } }
  }

  /// Makes a failure the last delivery, where none was made that nothing follows (law 2), and ends.
  func end(with failure: DataServiceError) {
    let delivery = Delivery.failure(failure, lastKnown: nil)
    let placed = state.withLock { state in
      defer { state.isComplete = true }
      return state.hasAnswered ? .nowhere : state.place(delivery, isInline: isInline)
    }
    handOn(delivery, placed)
    end()
  }

  private func attend(_ callback: Callback) {
    if let queue = callback.queue { return queue.async { _ = self.callNext(callback) } }
    let isMine = state.withLock { state in
      defer { state.isAttended = true }
      return !state.isAttended
    }
    if isMine { while callNext(callback) {} }
  }

  /// Calls with what is next: a delivery, or the end. Law 11 is asked here, where the callback runs: what waits must hear
  /// of a ``close()``.
  /// - Returns: Whether there was anything.
  private func callNext(_ callback: Callback) -> Bool {
    let next = state.withLock { state -> Next in
      if !state.waiting.isEmpty { return .delivery(state.waiting.removeFirst()) }
      if state.isComplete, !state.isEndCalled {
        state.isEndCalled = true
        return .end
      }
      state.isAttended = false
      return .nothing
    }
    switch next {
    case .delivery(let delivery): callback.deliver(delivery)
    case .end:
      callback.ended?()
      settle { $0.isAtEnd = true }
    case .nothing: return false
    }
    return true
  }

  /// What a callback is called with.
  private enum Next {
    case delivery(Delivery), end, nothing
  }

  /// Progress reports where the callbacks run.
  func reporting(
    _ progress: @escaping @Sendable (DataService.TransferProgress) -> Void
  ) -> @Sendable (DataService.TransferProgress) -> Void {
    guard let queue = callback?.queue else { return progress }
    return { update in queue.async { if !self.isClosed { progress(update) } } }
  }

  private var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Whether the load is over.
  var isOver: Bool { state.withLock { $0.isOver } }

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
      defer { state.waiting = [] }
      return state.waiting
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
