internal import FoundationEssentials

extension ResponseStore {
  /// The slots for marks in the lock file: 64 KiB of it at most. Two requests that share one cost an exchange at most.
  private static let slots: UInt64 = 8_192

  /// Whether somebody refreshes the request of that hash; takes nothing, so that any number may ask at once.
  public func isLeased(_ hash: UInt64) throws(CacheStoreError) -> Bool {
    try lockFile.isLocked(.request(hash))
  }

  /// Tells the followers of a lease that no row will come of it, so that all of them go at once. Called by the
  /// holder, before it releases the lease.
  ///
  /// - Parameter instant: Nanoseconds since boot.
  public func markLeaseEndedWithoutRow(_ hash: UInt64, at instant: Int64) {
    lockFile.setMark(Int(hash % Self.slots), to: instant)
  }

  /// Whether a holder of the lease has ended without a row since an instant, in nanoseconds since boot.
  public func leaseEndedWithoutRow(_ hash: UInt64, since instant: Int64) throws(CacheStoreError) -> Bool {
    try lockFile.mark(Int(hash % Self.slots)) >= instant
  }

  /// Makes ready to read what the holder of a lease is about to commit: whoever waits for it has time for that now, and
  /// everybody will want it at once then.
  /// - Returns: Whether that is done; there may be no store yet.
  package func prepareLookup(_ key: RequestKey) -> Bool {
    // The look-up that follows meets the same error and reports it.
    _ = try? lookupNow(key)
    guard pool.isOpen else { return false }
    prepareValues()
    return true
  }

  /// Uses for the first time what a row that is found is made of: the runtime makes a type's array when one is first
  /// wanted, and Foundation asks for the size of a page, whose noting copies a page of memory that all threads share.
  private func prepareValues() {
    var rows: [StoredResponse] = []
    rows.reserveCapacity(1)
    withExtendedLifetime((rows, Data([UInt8](repeating: 0, count: 64)))) {}
  }

  /// A hash that is the same in every process, for ``tryLease(_:)``.
  public static func leaseHash(_ bytes: [UInt8]) -> UInt64 {
    bytes.withUnsafeBytes { UInt64(bitPattern: Checksum.hash($0)) }
  }
}
