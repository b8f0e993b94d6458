internal import CacheStore

/// Waits for the store no longer than a delivery may. What the store is doing goes on; the exchange no longer awaits it.
struct StoreWaiting: Sendable {
  let clock: any Timekeeper
  let thread: NetworkThread
  let timeLimit: Duration

  /// What the work comes to; `nil` where it takes longer, in which case `late` is told once it is done.
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

  /// The value, or `nil` where it takes longer; nothing that is set later counts.
  nonisolated(nonsending) func value<Value: Sendable>(of first: FirstValue<Value?>) async -> Value? {
    if let value = first.current { return value }
    let timer = clock.after(timeLimit) { first.set(nil) }
    defer { timer.cancel() }
    return await first.value
  }

  static let gaveUp = CacheStoreError(.busy, "the store did not answer in time")
}

extension ServiceCore {
  /// For as long as a delivery waits for its row.
  var commitWaiting: StoreWaiting {
    StoreWaiting(clock: timekeeper, thread: thread, timeLimit: configuration.timeouts.commit)
  }
}
