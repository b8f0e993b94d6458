internal import CacheStore
internal import Synchronization

/// The row id that the account had when an exchange, or a live sequence, began.
///
/// If the exchange's lookup found no account row, the row is created while the exchange runs. The exchange therefore cannot
/// write past a sign-out of its account, nor past a removal: whatever comes after the first request comes after the row in
/// the store's queue.
final class AccountGeneration: Sendable {
  private let account: String
  private let door: StoreDoor
  /// The id; 0 while it is unknown. A row's id is never 0.
  private let current: Atomic<Int64>
  private let isBeingMade = Atomic(false)
  private let revoked = Atomic(false)
  /// What the making of the row has come to, where it was begun; `nil` where the id was known from the beginning.
  private let made: Pending<Int64>?

  init(known: Int64?, account: String, door: StoreDoor) {
    self.account = account
    self.door = door
    current = Atomic(known ?? 0)
    made = known == nil ? Pending() : nil
  }

  /// The id, if it is known already.
  var known: Int64? {
    let id = current.load(ordering: .relaxed)
    return id == 0 ? nil : id
  }

  /// Starts creating the row if its id is unknown: the store has been asked when this returns.
  func begin(on thread: NetworkThread) {
    guard known == nil, !isBeingMade.exchange(true, ordering: .relaxed) else { return }
    door.store.accountID(named: account) { result in
      thread.perform {
        if case .success(let id) = result { self.current.store(id, ordering: .relaxed) }
        self.made?.set(result)
      }
    }
  }

  /// Looks the id up, and makes no row where there is none.
  func learn() async throws(CacheStoreError) {
    guard known == nil, let id = try await door.store.knownAccountID(named: account) else { return }
    current.store(id, ordering: .relaxed)
  }

  /// Notes the id that a look-up has found; where it is another, whether the account was signed out, or the store
  /// replaced.
  func follow(_ id: Int64?) async throws(CacheStoreError) {
    guard !account.isEmpty, id != known, !isSignedOut else { return }
    if let known, try await door.store.isRevoked(accountID: known) {
      revoked.store(true, ordering: .relaxed)
    } else {
      current.store(id ?? 0, ordering: .relaxed)
    }
  }

  /// Whether ``follow(_:)`` has found the account signed out.
  var isSignedOut: Bool { revoked.load(ordering: .relaxed) }

  /// Whether the account has a row, or one is being made.
  var hasBegun: Bool { known != nil || isBeingMade.load(ordering: .relaxed) }

  /// The id, waiting for a row that is being made; `nil` where there is none and none is being made.
  func begun() async throws(CacheStoreError) -> Int64? { hasBegun ? try await id() : nil }

  /// Waits for the id.
  func id() async throws(CacheStoreError) -> Int64 {
    if let known { return known }
    guard let made, isBeingMade.load(ordering: .relaxed) else { return try await make().get() }
    let result = await made.value
    // Where it could not be made it may have been looked up since.
    if let known { return known }
    return try result.get()
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
      if let known, known != first { return try await work(known) }
      return try await work(try await make().get())
    }
  }

  private func make() async -> Result<Int64, CacheStoreError> {
    do throws(CacheStoreError) {
      let id = try await door.store.accountID(named: account)
      current.store(id, ordering: .relaxed)
      return .success(id)
    } catch {
      return .failure(error)
    }
  }
}

// Sign-outs, as far as the store says in the time that a delivery may wait for it.
extension AccountGeneration {
  /// Learns which account this is, if it has a row, so that a sign-out from now on is noticed.
  /// - Returns: Whether the store has answered.
  @discardableResult func learnInTime() async -> Bool {
    let reply = await door.ask(for: .commit) { (_) async throws(CacheStoreError) in try await self.learn() }
    if case .silent = reply { return false }
    return true
  }

  /// Throws `signedOut` if the account was signed out meanwhile: its answer is not delivered, stored or not.
  func checkSignOut() async throws(DataServiceError) {
    guard !account.isEmpty, hasBegun else { return }
    let isRevoked = await door.ask(for: .commit) { (store) async throws(CacheStoreError) -> Bool in
      // The row may have been made, and be gone again, before this exchange has learnt of it.
      guard let id = try await self.begun() else { return false }
      return try await store.isRevoked(accountID: id)
    }
    // If the store does not answer, or was replaced, nothing says that the account was signed out.
    if isRevoked.value == true { throw DataServiceError.signedOut }
  }

  /// The failure to publish: that the account was signed out, if it was, so that no load falls back on what is stored.
  func unlessSignedOut(_ failure: DataServiceError) async -> DataServiceError {
    guard ![.signedOut, .closed, .cancelled].contains(failure.kind) else { return failure }
    do throws(DataServiceError) { try await checkSignOut() } catch { return error }
    return failure
  }
}

extension DataServiceError {
  static let signedOut = DataServiceError(
    .signedOut, "the account was signed out while the request was under way")
}
