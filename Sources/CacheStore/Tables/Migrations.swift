/// What makes a store of one release one of the next. The list is only ever appended to, and an entry that a release has is
/// never changed: stores everywhere have been through it.
///
/// An entry adds tables, indexes, or columns with a default, and nothing else, since a process of the earlier release may have
/// the store open meanwhile. `schema.sql` is what the last entry leaves.
enum Migrations {
  /// The `user_version` that the first entry begins from. Stores before it, of which there is no release, are begun anew.
  static let first = 3

  static let all = [
    // 4: 0.1.0
    """
    CREATE TABLE event_count (
      name   TEXT NOT NULL PRIMARY KEY,              -- 'evicted', or 'failed:' and the kind of the failure
      count  INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    """
  ]

  /// `user_version` of the files this release writes, as in `schema.sql`.
  static let version = first + all.count

  /// Makes the store one of this release, in one transaction. The caller holds `LockFile.Place.file`.
  static func run(_ database: Database) throws(CacheStoreError) {
    try database.writing(isStoring: false) { () throws(CacheStoreError) in
      let found = Int(try database.integer("PRAGMA user_version") ?? 0)
      guard (first..<version).contains(found) else { return }
      for entry in all[(found - first)...] { try database.execute(entry) }
      try database.execute("PRAGMA user_version = \(version)")
    }
  }
}
