internal import CacheStore

/// Waits for the store no longer than a delivery may. After a timeout the store's work continues without being
/// awaited.
struct StoreWaiting: Sendable {
  let clock: any Timekeeper
  let thread: NetworkThread
  let timeLimit: Duration

  /// The result of the work; `nil` on timeout, in which case `late` receives the result later.
  nonisolated(nonsending) func result<Value: Sendable>(
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
  nonisolated(nonsending) func value<Value: Sendable>(of first: FirstValue<Value?>) async -> Value? {
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
