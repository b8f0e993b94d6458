internal import CacheStore
internal import Guards

/// The right to refresh, held until the row is committed or will certainly not come.
struct ExchangeLease: Sendable {
  let lease: Lease
  let store: ResponseStore
  let hash: UInt64
  let clock: any Timekeeper

  /// Releases the lease. Without a row, followers are told first, so that they all proceed at once instead of one
  /// after another.
  func end(storedRow: Bool) {
    if !storedRow { store.markLeaseEndedWithoutRow(hash, at: clock.bootNanoseconds) }
    lease.release()
  }
}

extension ServiceCore {
  /// A hash that all processes agree on, equal for loads that may share an exchange.
  func leaseHash(of prepared: PreparedRequest) -> UInt64 {
    let (limits, connection) = (prepared.request.limits, prepared.request.connection)
    let options = state.withLock { $0.leaseText.text(of: limits, connection) }
    return prepared.leaseHash(secrets: configuration.secrets, options: options)
  }
}
