internal import CSQLite

/// What holds for all of SQLite in a process: for a program to settle whose SQLite nobody else uses.
package enum SQLiteLibrary {
  /// Lets SQLite not count the memory it takes, which it does under one lock for all threads, at each piece it takes or
  /// gives back. Before anything of a store is used; later it has no effect.
  package static func forgoMemoryCounts() { _ = cachefetch_config_memory_counts(0) }
}

/// What the store is built on, for `--version`.
package enum StoreVersion {
  /// SQLite's version, such as `3.40.1`.
  package static var sqlite: String { String(cString: sqlite3_libversion()) }
}
