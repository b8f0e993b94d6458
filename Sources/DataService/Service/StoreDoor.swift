internal import CacheStore
internal import Dispatch
internal import Synchronization

/// The service's one way to wait for its store, and the one place that knows that a disk may not answer (laws 3, 4
/// and 9).
///
/// What is asked begins at once, and is waited for as long as its purpose allows. It goes on without being waited for.
/// A look that must not wait is `lookupNow` of the store itself.
final class StoreDoor: Sendable {
  /// What waits for the store.
  enum Purpose: Sendable {
    /// A delivery.
    case commit
    /// An exchange that needs the lock file.
    case lockFile
    /// The reader of a body.
    case reading
    /// An exchange that needs another process's row, and has until then, in nanoseconds since boot: half of what is left
    /// at most.
    case following(until: Int64)
  }

  let store: ResponseStore
  private let clock: any Timekeeper
  private let thread: NetworkThread
  private let timeouts: InternalTimeouts
  let queue = DispatchQueue(label: "cachefetch.store.calls")
  /// The number of calls that have timed out and not returned. Later calls would wait behind them.
  private let late = Atomic(0)

  init(_ store: ResponseStore, clock: any Timekeeper, thread: NetworkThread, timeouts: InternalTimeouts) {
    self.store = store
    self.clock = clock
    self.thread = thread
    self.timeouts = timeouts
  }

  private func limit(_ purpose: Purpose) -> Duration {
    switch purpose {
    case .commit: timeouts.commit
    case .lockFile: timeouts.lockFile
    case .reading: store.configuration.busyTimeout + timeouts.commit
    case .following(let end): min(timeouts.lockFile, .nanoseconds(max(0, end - clock.bootNanoseconds) / 2))
    }
  }

  /// The reply to what is under way already. After the time limit it is silent, and `late` receives what comes then.
  func reply<Value: Sendable>(
    of pending: Pending<Value>, for purpose: Purpose,
    late: (@Sendable (Result<Value, CacheStoreError>) -> Void)? = nil
  ) async -> Reply<Value> {
    if let result = pending.current { return Reply(result) }
    await clock.letStoreRest { pending.current != nil }
    if let result = pending.current { return Reply(result) }
    let timer = clock.after(limit(purpose)) { pending.wake() }
    defer { timer.cancel() }
    if let result = await pending.value(unless: { !timer.isPending }) { return Reply(result) }
    return silent(pending, late)
  }

  private func silent<Value: Sendable>(
    _ pending: Pending<Value>, _ late: (@Sendable (Result<Value, CacheStoreError>) -> Void)?
  ) -> Reply<Value> {
    if let late { _ = Task(executorPreference: thread) { late(await pending.value) } }
    return .silent(pending)
  }

  /// The reply to work that waits on the store's own queues.
  func ask<Value: Sendable>(
    for purpose: Purpose, late: (@Sendable (Result<Value, CacheStoreError>) -> Void)? = nil,
    _ work: @escaping @Sendable (ResponseStore) async throws(CacheStoreError) -> Value
  ) async -> Reply<Value> {
    let pending = Pending<Value>()
    Task(executorPreference: thread) { [store] in
      do throws(CacheStoreError) {
        pending.set(.success(try await work(store)))
      } catch {
        pending.set(.failure(error))
      }
    }
    return await reply(of: pending, for: purpose, late: late)
  }

  /// The reply to a call that a working disk answers at once. Calls run on a queue of their own, one after another:
  /// while one is late, those behind it are silent at once.
  func call<Value: Sendable>(
    for purpose: Purpose = .commit, late: (@Sendable (Result<Value, CacheStoreError>) -> Void)? = nil,
    _ call: @escaping @Sendable (ResponseStore) throws(CacheStoreError) -> Value
  ) async -> Reply<Value> {
    let pending = Pending<Value>()
    let isHeldUp = self.late.load(ordering: .relaxed) > 0
    queue.async { [store] in
      pending.set(Result { () throws(CacheStoreError) in try call(store) })
    }
    if isHeldUp { return silent(pending, late) }
    let reply = await reply(of: pending, for: purpose, late: late)
    if case .silent = reply {
      self.late.wrappingAdd(1, ordering: .relaxed)
      queue.async { self.late.wrappingSubtract(1, ordering: .relaxed) }
    }
    return reply
  }

  /// Makes a call that nobody waits for.
  func perform(_ call: @escaping @Sendable () -> Void) { queue.async(execute: call) }
}

/// What the store was asked for, and will come to.
typealias Pending<Value: Sendable> = FirstValue<Result<Value, CacheStoreError>>

/// What the store says.
enum Reply<Value: Sendable>: Sendable {
  case done(Value)
  case failed(CacheStoreError)
  /// It has not answered in time, and what it was asked for goes on.
  case silent(Pending<Value>)

  init(_ result: Result<Value, CacheStoreError>) {
    switch result {
    case .success(let value): self = .done(value)
    case .failure(let error): self = .failed(error)
    }
  }

  /// What it was asked for, if that is done.
  var value: Value? {
    if case .done(let value) = self { value } else { nil }
  }

  /// What it was asked for; `nil` where it is silent.
  func get() throws(CacheStoreError) -> Value? {
    if case .failed(let error) = self { throw error }
    return value
  }

  /// What it was asked for; silence is a failure.
  func done() throws(CacheStoreError) -> Value {
    guard let value = try get() else { throw CacheStoreError(.busy, "the store did not answer in time") }
    return value
  }
}

extension ServiceCore {
  /// Changes the store, and reports what fails. Returns once that is done, or takes as long as a commit may.
  func change(_ work: @escaping @Sendable (ResponseStore) async throws(CacheStoreError) -> Void) async {
    if case .failed(let error) = await door.ask(for: .commit, work) { warn(store: error) }
  }
}
