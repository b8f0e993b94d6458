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
}
