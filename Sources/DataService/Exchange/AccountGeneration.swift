internal import CacheStore
internal import Guards

/// The row id that the account had when the exchange began.
///
/// If the lookup found no account row, the row is created while the exchange runs. The exchange therefore cannot
/// write past a sign-out of its account: any sign-out comes after the row in the store's queue.
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

  /// The id, if it is known already.
  var known: Int64? {
    state.withLock { state in
      if case .known(let id) = state { return id }
      return nil
    }
  }

  /// Starts creating the row if its id is unknown.
  func begin(on thread: NetworkThread) {
    guard case .none = state.withLock({ $0 }) else { return }
    let task = Task(executorPreference: thread) { await self.make() }
    state.withLock { state in
      // The task may have finished already.
      if case .none = state { state = .making(task) }
    }
  }

  /// Looks the id up, and makes no row where there is none.
  func learn() async throws(CacheStoreError) {
    guard known == nil, let id = try await store.knownAccountID(named: account) else { return }
    state.withLock { $0 = .known(id) }
  }

  /// Whether the account has a row, or one is being made.
  var hasBegun: Bool {
    state.withLock { state in
      if case .none = state { return false }
      return true
    }
  }

  /// The id, waiting for a row that is being made; `nil` where there is none and none is being made.
  func begun() async throws(CacheStoreError) -> Int64? {
    let state = state.withLock { $0 }
    switch state {
    case .known(let id): return id
    case .making(let task): return try await task.value.get()
    case .none: return nil
    }
  }

  /// Waits for the id.
  func id() async throws(CacheStoreError) -> Int64 {
    let state = state.withLock { $0 }
    switch state {
    case .known(let id): return id
    case .making(let task): return try await task.value.get()
    case .none: return try await make().get()
    }
  }

  /// The account's id in the store that replaced a removed one; see `CacheStoreError.Reason.missing`.
  func renewed(insteadOf old: Int64) async throws(CacheStoreError) -> Int64 {
    if let known, known != old { return known }
    return try await make().get()
  }

  /// Runs `work` with the id, and once more with the new id if the store was removed meanwhile.
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
