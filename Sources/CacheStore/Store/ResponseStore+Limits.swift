extension ResponseStore {
  /// The limits set in the store itself, and those in force: the store's own take precedence over the
  /// configuration's.
  package func limits() async throws(CacheStoreError) -> (own: StoreLimits, inForce: StoreLimits) {
    let own =
      try await query { (connection) throws(CacheStoreError) in
        try connection.readLimits()
      } ?? StoreLimits()
    let inForce = own.over(StoreLimits(configuration))
    eviction.noteBytes(of: inForce)
    return (own, inForce)
  }

  /// Sets the store's own limits, which every process obeys from its next write on, and evicts what exceeds them at
  /// once, in short steps. `nil` leaves a limit to each program's configuration.
  ///
  /// Pinned rows stay, whatever the limits.
  /// - Returns: How many rows were removed.
  @discardableResult package func setLimits(_ limits: StoreLimits) async throws(CacheStoreError) -> Int {
    let before = try await writer.perform { (connection) throws(CacheStoreError) in
      try connection.transaction { () throws(CacheStoreError) in try connection.writeLimits(limits) }
      return try connection.value(.rowCount)
    }
    try await Trimming(of: self).trim(until: .max)
    try await Trimming(of: self).writeBackLog(cuts: true)
    let after = try await writer.perform { (connection) throws(CacheStoreError) in
      try connection.value(.rowCount)
    }
    return Int(max(0, before - after))
  }

  /// Whether this process has removed a row to make room for another.
  package var hasEvicted: Bool { eviction.hasEvicted }

  /// The largest body that is stored, by the limits as last read; every write reads them anew.
  package var largestBody: Int64 { eviction.largestBody }

  /// For a body, or the beginning of one, that would take more than half the store.
  package func tooLarge(_ bytes: Int64) -> CacheStoreError { eviction.tooLarge(bytes) }

  /// ``largestBody`` by the limits in the file; read before a body that seems too large is dropped.
  package func readLargestBody() async -> Int64 {
    // Law 9: where the limits cannot be read, the last ones known hold.
    _ = try? await limits()
    return largestBody
  }
}
