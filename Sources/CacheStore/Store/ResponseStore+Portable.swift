internal import CSQLite

extension ResponseStore {
  /// Puts all that is stored into the one database file: no log is left beside it, and none is needed to read it.
  ///
  /// For a store that nobody else has open, before it is closed: the file can then be copied and sent.
  package func becomePortable() async throws(CacheStoreError) {
    try await writes.perform { [writes] (connection) throws(CacheStoreError) in
      // The log can be left by who is alone with the file, and what writes it back has it open too.
      writes.checkpointer.close()
      try connection.leaveLog()
    }
  }
}

extension Connection {
  /// Goes back to the rollback journal. The settings that keep the log at close would keep it here too, with what is
  /// only in it.
  fileprivate func leaveLog() throws(CacheStoreError) {
    _ = cachefetch_db_config_flag(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    var persists: Int32 = 0
    sqlite3_file_control(database, "main", SQLITE_FCNTL_PERSIST_WAL, &persists)
    try execute("PRAGMA journal_mode = DELETE")
  }
}
