extension ResponseStore {
  /// The slots for marks in the lock file: 64 KiB of it at most. Two requests that share one cost an exchange at most.
  private static let slots: UInt64 = 8_192

  /// Whether somebody refreshes the request of that hash; takes nothing, so that any number may ask at once.
  public func isLeased(_ hash: UInt64) throws(CacheStoreError) -> Bool {
    try lockFile.isLocked(.request(hash))
  }

  /// Tells the followers of a lease that no row will come of it, so that all of them go at once. Called by the
  /// holder, before it lets go.
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
    // What is wrong is met again, and told, by the look-up that matters.
    _ = try? lookupNow(key)
    return pool.isOpen
  }

  /// A hash that is the same in every process, for ``tryLease(_:)``.
  public static func leaseHash(_ bytes: [UInt8]) -> UInt64 {
    bytes.withUnsafeBytes { UInt64(bitPattern: RowHasher.hash($0, seed: 0)) }
  }
}
