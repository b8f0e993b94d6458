internal import PlatformFoundation

extension ResponseStore {
  /// Whether a process holds the lease of that hash. Takes no lock, so any number of processes may ask at once.
  package func isLeased(_ hash: UInt64) throws(CacheStoreError) -> Bool {
    try lockFile.isLocked(.request(hash))
  }

  /// Notes the end of a lease. Without a row its followers all stop waiting at once; with one, who looked before the commit
  /// and takes the lease next looks once more. The holder calls this before it releases the lease.
  ///
  /// - Parameter instant: Nanoseconds since boot.
  package func markLeaseEnded(_ hash: UInt64, storedRow: Bool, at instant: Int64) {
    lockFile.setMark(storedRow ? LockFile.Slot.stored(hash) : LockFile.Slot.request(hash), to: instant)
  }

  /// Whether a holder of the lease has ended without a row since an instant, in nanoseconds since boot. Nobody has
  /// ended later than now: such a mark is another boot's.
  package func leaseEndedWithoutRow(
    _ hash: UInt64, since instant: Int64, now: Int64
  ) throws(CacheStoreError) -> Bool {
    let mark = try lockFile.mark(LockFile.Slot.request(hash))
    return mark >= instant && mark <= now
  }

  /// Opens a reading connection while the caller waits for the holder of a lease: after the commit every follower
  /// reads the row at once.
  /// - Returns: Whether a connection is open; there may be no store yet.
  package func prepareLookup(_ key: RequestKey) -> Bool {
    // The lookup that follows meets the same error and reports it.
    _ = try? lookupNow(key)
    guard pool.isOpen else { return false }
    prepareValues()
    return true
  }

  /// Runs the one-time work of reading a row before it is needed: the runtime creates an array type's metadata at
  /// first use, and Foundation looks up the page size and stores it, which copies a shared page of memory.
  private func prepareValues() {
    var rows: [StoredResponse] = []
    rows.reserveCapacity(1)
    withExtendedLifetime((rows, Data([UInt8](repeating: 0, count: 64)))) {}
  }

  /// A hash that is the same in every process, for ``tryLease(_:)``.
  package static func leaseHash(_ bytes: [UInt8]) -> UInt64 {
    bytes.withUnsafeBytes { UInt64(bitPattern: Checksum.hash($0)) }
  }
}
