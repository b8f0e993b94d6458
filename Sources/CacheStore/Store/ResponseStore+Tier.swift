// What the fleet's second tier keeps beside the store: counts, and a mark that the processes share.
extension ResponseStore {
  /// Adds to the counts of the fleet's second tier beside the store; on the calling thread.
  package func add(_ counts: TierCounts) {
    guard counts != TierCounts(), !configuration.isReadOnly, FileStatus(path: files.database) != nil else {
      return
    }
    TierCountFile(files: files).add(counts)
  }

  /// The counts of the fleet's second tier.
  package var tierCounts: TierCounts { TierCountFile(files: files).counts }

  /// The slot after those of the leases. The file is sparse, so the slots between cost nothing.
  private static let tierSlot = Int(leaseSlots)

  /// A number that the processes on this store share about the fleet's tier; 0 where there is none, or no store to
  /// have it. A hint that nothing depends on. Takes no lock, and creates no file.
  package var tierMark: Int64 {
    guard hasLockFile, let mark = try? lockFile.mark(Self.tierSlot) else { return 0 }
    return mark
  }

  /// Replaces the number; does nothing where the store is read only, or not yet made.
  package func setTierMark(_ value: Int64) {
    // Reading opens the file.
    guard hasLockFile, (try? lockFile.mark(Self.tierSlot)) != nil else { return }
    lockFile.setMark(Self.tierSlot, to: value)
  }

  /// Opening the lock file would create it. Who leads has it open.
  private var hasLockFile: Bool {
    !configuration.isReadOnly && (lockFile.isOpen || FileStatus(path: files.lock) != nil)
  }
}
