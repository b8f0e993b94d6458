internal import CacheStore
internal import Dispatch
internal import Synchronization

/// Calls the store where a working disk answers at once. Calls run on a queue of their own, and each is
/// awaited no longer than a delivery waits.
final class StoreCalls: Sendable {
  private let queue = DispatchQueue(label: "cachefetch.store.calls")
  /// The number of calls that have timed out and not returned. Later calls would wait behind them.
  private let late = Atomic(0)

  /// The result of the call; `nil` if it does not return in time, in which case `late` receives the result later.
  ///
  /// The call runs even if its result is no longer awaited.
  func result<Value: Sendable>(
    _ waiting: StoreWaiting, late abandon: (@Sendable (Value) -> Void)? = nil,
    of call: @escaping @Sendable () -> Value
  ) async -> Value? {
    let first = FirstValue<Value?>()
    let isHeldUp = late.load(ordering: .relaxed) > 0
    if isHeldUp { first.set(nil) }
    queue.async {
      let value = call()
      if !first.set(value) { abandon?(value) }
    }
    guard let value = await waiting.value(of: first) else {
      if !isHeldUp { noteLate() }
      return nil
    }
    return value
  }

  /// Makes a call without awaiting it.
  func perform(_ call: @escaping @Sendable () -> Void) { queue.async(execute: call) }

  private func noteLate() {
    late.wrappingAdd(1, ordering: .relaxed)
    queue.async { self.late.wrappingSubtract(1, ordering: .relaxed) }
  }
}

extension ServiceCore {
  /// Calls the store as ``StoreCalls`` describes.
  func storeCall<Value: Sendable>(
    late: (@Sendable (Value) -> Void)? = nil, _ call: @escaping @Sendable () -> Value
  ) async -> Value? {
    await storeCalls.result(commitWaiting, late: late, of: call)
  }
}

/// Waits for the store no longer than a delivery may. After a timeout the store's work continues without being
/// awaited.
struct StoreWaiting: Sendable {
  let clock: any Timekeeper
  let thread: NetworkThread
  var timeLimit: Duration

  /// The result of the work; `nil` on timeout, in which case `late` receives the result later.
  func result<Value: Sendable>(
    late: (@Sendable (Result<Value, CacheStoreError>) -> Void)? = nil,
    of work: @escaping @Sendable () async throws(CacheStoreError) -> Value
  ) async -> Result<Value, CacheStoreError>? {
    let first = FirstValue<Result<Value, CacheStoreError>?>()
    Task(executorPreference: thread) {
      let result: Result<Value, CacheStoreError>
      do throws(CacheStoreError) {
        result = .success(try await work())
      } catch {
        result = .failure(error)
      }
      if !first.set(result) { late?(result) }
    }
    return await value(of: first)
  }

  /// The value, or `nil` on timeout; a value that is set later is ignored.
  func value<Value: Sendable>(of first: FirstValue<Value?>) async -> Value? {
    if let value = first.current { return value }
    await clock.letStoreRest { first.current != nil }
    if let value = first.current { return value }
    let timer = clock.after(timeLimit) { first.set(nil) }
    defer { timer.cancel() }
    return await first.value
  }

  static let gaveUp = CacheStoreError(.busy, "the store did not answer in time")
}

extension ServiceCore {
  /// Waits as long as a delivery waits for its row.
  var commitWaiting: StoreWaiting {
    StoreWaiting(clock: timekeeper, thread: thread, timeLimit: configuration.timeouts.commit)
  }

  /// Waits as long as an exchange waits for the lock file.
  var lockFileWaiting: StoreWaiting {
    StoreWaiting(clock: timekeeper, thread: thread, timeLimit: configuration.timeouts.lockFile)
  }
}
