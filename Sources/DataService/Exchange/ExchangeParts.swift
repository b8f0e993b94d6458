internal import CacheStore
internal import Guards

/// The inputs of an exchange.
struct ExchangePlan: Sendable {
  var prepared: PreparedRequest
  /// The stored row, for its validators; `nil` makes the exchange unconditional.
  var row: Box<StoredResponse>?
  /// Whether the row's validators are sent; not where the load that makes the exchange cannot use it.
  var lendsValidator = true
  /// The account's row id, as the lookup found it.
  var accountID: Int64?
  /// A lookup that is still running. Its row must not be replaced before it ends.
  var pendingLookup: FirstValue<Void>?
  /// Whether other loads and processes may share the exchange.
  var isShared: Bool
  /// Whether the load that makes it accepts an answer that was asked for before; false for `freshOnly`.
  var mayFollow: Bool
  /// Whether this process is asking for the same already, too early for the load: then it waits for no other process.
  var isBeside = false
  /// Whether the exchange only fills the store, as behind a stale answer under `http`.
  var isForStore = false
  /// Whether the store had answered when the exchange began, so that without a row there is none.
  var isRowKnown = true
  /// The store's knowledge that matters before the request, as read with the lookup; `nil` if it must be read
  /// separately.
  var preflight: ResponseStore.Preflight?

  /// The stored row that the exchange began with.
  var candidate: StoredResponse? { row?.value }
}

/// The right to refresh, held until the row is committed or will certainly not come.
struct ExchangeLease: Sendable {
  let lease: Lease
  let store: ResponseStore
  let hash: UInt64

  /// Releases the lease. Without a row, followers are told first, so that they all proceed at once instead of one
  /// after another.
  func end(storedRow: Bool, at instant: Int64) {
    store.markLeaseEnded(hash, storedRow: storedRow, at: instant)
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
