internal import CSQLite

/// Settings for all of SQLite in a process, for programs in which no other code uses this SQLite.
package enum SQLiteLibrary {
  /// Turns off SQLite's memory statistics, which take one lock for all threads at each allocation and release. Call
  /// it before any store is used; later it has no effect.
  package static func forgoMemoryCounts() { _ = cachefetch_config_memory_counts(0) }

  /// Allocates the pages of a connection's cache one at a time, as they are read, and not twenty when the first is: a
  /// short process reads fewer. Call it before any store is used; later it has no effect.
  package static func allocatePagesWhenRead() { _ = cachefetch_config_pages_ahead(0) }

  /// SQLite's version, such as `3.40.1`.
  package static var version: String { String(cString: sqlite3_libversion()) }
}
