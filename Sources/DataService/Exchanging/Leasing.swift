internal import CacheStore

/// Who refreshes: this process, or another that already does (design law 7 across processes).
struct Leasing {
  enum Role {
    /// This process exchanges, at once or after it has waited for another; `nil` where the store cannot lease, so that each
    /// goes alone.
    case lead(ExchangeLease?, isAtOnce: Bool)
    /// Another process did, and this is its answer.
    case follow(Answer)
  }

  /// Followers look this often whether the leader has ended.
  static let interval = Duration.milliseconds(5)

  private let exchange: Exchange
  private let deadline: Int64
  private let hash: UInt64
  private var store: ResponseStore { exchange.core.store }

  init(exchange: Exchange, deadline: Int64) {
    self.exchange = exchange
    self.deadline = deadline
    hash = exchange.plan.prepared.leaseHash(secrets: exchange.core.configuration.secrets)
  }

  nonisolated(nonsending) func obtain() async throws(DataServiceError) -> Role {
    let began = exchange.core.timekeeper.bootNanoseconds
    var isWaiting = false
    var isLeftToOthers = false
    do throws(CacheStoreError) {
      while !isLeftToOthers {
        if let lease = try store.tryLease(hash) {
          if isWaiting, let answer = try await followed() {
            lease.release()
            return .follow(answer)
          }
          exchange.core.trace("leads")
          let held = ExchangeLease(lease: lease, store: store, hash: hash, clock: exchange.core.timekeeper)
          return .lead(held, isAtOnce: !isWaiting)
        }
        guard exchange.plan.mayFollow else { return .lead(nil, isAtOnce: true) }
        isLeftToOthers = exchange.plan.prepared.request.yieldsToOthers
        if isLeftToOthers { continue }
        if !isWaiting {
          isWaiting = true
          exchange.core.trace("waits")
        }
        try await waitWhileLeased(since: began)
        if let answer = try await followed() { return .follow(answer) }
        if try store.leaseEndedWithoutRow(hash, since: began) {
          exchange.core.trace("goes alone: the leader's answer was not stored")
          return .lead(nil, isAtOnce: false)
        }
      }
    } catch {
      // A store that cannot lease is one that cannot be used, and then each goes alone.
      if Task.isCancelled { throw DataServiceError(.cancelled, "cancelled") }
      if exchange.core.timekeeper.bootNanoseconds >= deadline {
        throw DataServiceError(.timeout(.total), "another process's exchange took longer than the load may")
      }
      return .lead(nil, isAtOnce: false)
    }
    throw DataServiceError(.other, "another process is refreshing this already")
  }

  /// Returns when nobody holds the lease, or the holder has said that no row will come.
  nonisolated(nonsending) private func waitWhileLeased(since began: Int64) async throws(CacheStoreError) {
    var isPrepared = false
    while try store.isLeased(hash), try !store.leaseEndedWithoutRow(hash, since: began) {
      if !isPrepared { isPrepared = store.prepareLookup(exchange.plan.prepared.key) }
      guard exchange.core.timekeeper.bootNanoseconds < deadline else {
        throw CacheStoreError(.busy, "the leader is not done")
      }
      do {
        try await exchange.core.timekeeper.sleep(for: Self.interval)
      } catch {
        throw CacheStoreError(.closed, "cancelled")
      }
    }
  }

  /// The leader's answer, if the row is another than at our look-up.
  nonisolated(nonsending) private func followed() async throws(CacheStoreError) -> Answer? {
    let prepared = exchange.plan.prepared
    let found = try await exchange.core.lookup(prepared)
    let row = exchange.core.select(from: found, for: prepared)
    let candidate = exchange.plan.candidate
    guard let row, row.started != candidate?.started || row.receivedAt != candidate?.receivedAt else {
      return nil
    }
    exchange.core.trace("follows: another process has refreshed the row")
    return Answer(row: row, url: row.responseURL ?? prepared.shownURL, comparedWith: candidate)
  }
}

/// The right to refresh, held until the row is committed or known not to come.
struct ExchangeLease: Sendable {
  let lease: Lease
  let store: ResponseStore
  let hash: UInt64
  let clock: any Timekeeper

  /// Gives the lease back. Without a row, followers are told first, so that all of them go at once instead of one
  /// after the other.
  func end(storedRow: Bool) {
    if !storedRow { store.markLeaseEndedWithoutRow(hash, at: clock.bootNanoseconds) }
    lease.release()
  }
}
