internal import CacheStore

/// The account's row id that an exchange began with.
///
/// Where the look-up knew none, the row is made while the exchange is under way: before it, in the order of the
/// store's queue, comes no sign-out of this exchange's account that it could then outlive.
final class AccountGeneration: Sendable {
  private enum State {
    case none
    case known(Int64)
    case making(Task<Result<Int64, CacheStoreError>, Never>)
  }

  private let account: String
  private let store: ResponseStore
  private let state: Guarded<State>

  init(known: Int64?, account: String, store: ResponseStore) {
    self.account = account
    self.store = store
    state = Guarded(known.map { .known($0) } ?? .none)
  }

  /// The id, where it is at hand.
  var known: Int64? {
    state.withLock { state in
      if case .known(let id) = state { return id }
      return nil
    }
  }

  /// Begins to make the row where there is none.
  func begin(on thread: NetworkThread) {
    guard case .none = state.withLock({ $0 }) else { return }
    let task = Task(executorPreference: thread) { await self.make() }
    state.withLock { state in
      // It may have been made meanwhile.
      if case .none = state { state = .making(task) }
    }
  }

  /// The id, once it is known.
  func id() async throws(CacheStoreError) -> Int64 {
    let state = state.withLock { $0 }
    switch state {
    case .known(let id): return id
    case .making(let task): return try await task.value.get()
    case .none: return try await make().get()
    }
  }

  /// The id in the store that has taken the place of one that was removed; see `CacheStoreError.Reason.missing`.
  func renewed(insteadOf old: Int64) async throws(CacheStoreError) -> Int64 {
    if let known, known != old { return known }
    return try await make().get()
  }

  /// Does work with the id, once more where the store was removed meanwhile.
  func with<Value: Sendable>(
    _ work: (Int64) async throws(CacheStoreError) -> Value
  ) async throws(CacheStoreError) -> Value {
    let first = try await id()
    do throws(CacheStoreError) {
      return try await work(first)
    } catch {
      guard error.reason == .missing else { throw error }
      return try await work(try await renewed(insteadOf: first))
    }
  }

  private func make() async -> Result<Int64, CacheStoreError> {
    do throws(CacheStoreError) {
      let id = try await store.accountID(named: account)
      state.withLock { $0 = .known(id) }
      return .success(id)
    } catch {
      return .failure(error)
    }
  }
}
