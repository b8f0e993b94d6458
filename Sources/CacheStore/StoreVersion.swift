internal import CSQLite

/// What the store is built on, for `--version`.
package enum StoreVersion {
  /// SQLite's version, such as `3.40.1`.
  package static var sqlite: String { String(cString: sqlite3_libversion()) }
}
