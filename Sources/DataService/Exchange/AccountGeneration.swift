internal import CacheStore
internal import Synchronization

/// The row id that the account had when the exchange began.
///
/// If the lookup found no account row, the row is created while the exchange runs. The exchange therefore cannot
/// write past a sign-out of its account: any sign-out comes after the row in the store's queue.
final class AccountGeneration: Sendable {
  private let account: String
  private let store: ResponseStore
  /// The id that the lookup found.
  private let found: Int64?
  /// The id of the row that is made, or found later.
  private let made = FirstValue<Result<Int64, CacheStoreError>>()
  private let isMaking = Atomic(false)

  init(known: Int64?, account: String, store: ResponseStore) {
    self.account = account
    self.store = store
    found = known
  }

  /// The id, if it is known already.
  var known: Int64? {
    if let found { return found }
    guard case .success(let id) = made.current else { return nil }
    return id
  }

  /// Starts creating the row if its id is unknown.
  func begin(on thread: NetworkThread) {
    guard known == nil, !isMaking.exchange(true, ordering: .relaxed) else { return }
    _ = Task(executorPreference: thread) { await self.make() }
  }

  /// Looks the id up, and makes no row where there is none.
  func learn() async throws(CacheStoreError) {
    guard known == nil, let id = try await store.knownAccountID(named: account) else { return }
    made.set(.success(id))
  }

  /// Whether the account has a row, or one is being made.
  var hasBegun: Bool { known != nil || isMaking.load(ordering: .relaxed) }

  /// The id, waiting for a row that is being made; `nil` where there is none and none is being made.
  func begun() async throws(CacheStoreError) -> Int64? { hasBegun ? try await id() : nil }

  /// Waits for the id.
  func id() async throws(CacheStoreError) -> Int64 {
    if let known { return known }
    if !isMaking.exchange(true, ordering: .relaxed) { await make() }
    return try await made.value.get()
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
      return try await work(try await store.accountID(named: account))
    }
  }

  private func make() async {
    do throws(CacheStoreError) {
      made.set(.success(try await store.accountID(named: account)))
    } catch {
      made.set(.failure(error))
    }
  }
}
