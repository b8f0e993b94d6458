extension ResponseStore {
  /// Puts all that is stored into the one database file: no log is left beside it, and none is needed to read it.
  ///
  /// For a store that nobody else has open, before it is closed: the file can then be copied and sent.
  package func becomePortable() async throws(CacheStoreError) {
    try await writes.perform { (connection) throws(CacheStoreError) in
      try connection.withStatement("PRAGMA journal_mode = DELETE") { (statement) throws(CacheStoreError) in
        _ = try statement.step()
      }
    }
  }
}
