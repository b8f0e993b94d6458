// The table `store_limit`: the store's own limits, and which rows have been checked by them.
extension Connection {
  /// The store's own limits; inside a writing transaction. Read anew only after a commit of another connection, which
  /// SQLite reports without a query.
  func ownLimits() throws(CacheStoreError) -> StoreLimits {
    if let limits = knownLimits, areLimitsCurrent { return limits }
    let limits = try readLimits()
    knownLimits = limits
    areLimitsCurrent = true
    return limits
  }

  /// The last row whose age has been checked; 0 where all have been, or the table does not exist yet.
  func checkedRow() throws(CacheStoreError) -> Int64 {
    guard try optionalStatement(.storeLimits) != nil else { return 0 }
    return try first("SELECT checked_id FROM store_limit WHERE id = 1", []) ?? 0
  }

  /// Stores the last row whose age has been checked.
  func noteChecked(_ row: Int64) throws(CacheStoreError) {
    guard try optionalStatement(.storeLimits) != nil else { return }
    _ = try first("UPDATE store_limit SET checked_id = ?1 WHERE id = 1 AND checked_id <> ?1", [row])
  }

  /// The store's own limits, as the file has them.
  func readLimits() throws(CacheStoreError) -> StoreLimits {
    guard let statement = try optionalStatement(.storeLimits) else { return StoreLimits() }
    defer { statement.reset() }
    guard try statement.step() else { return StoreLimits() }
    // A number below 1, which `setLimits` writes as it is given, is no limit.
    func positive(_ column: Int32) -> Int64? {
      statement.isNull(column) || statement.integer(column) <= 0 ? nil : statement.integer(column)
    }
    return StoreLimits(
      maximumBytes: positive(0), maximumRows: positive(1).map { Int($0) },
      maximumAge: positive(2).map { .milliseconds($0) })
  }

  /// Writes the limits, inside a transaction. An older store gets the table first.
  func writeLimits(_ limits: StoreLimits) throws(CacheStoreError) {
    if try optionalStatement(.storeLimits) == nil { try execute(Schema.text(of: "store_limit")) }
    try withStatement(
      """
      INSERT INTO store_limit (id, maximum_bytes, maximum_rows, maximum_ms) VALUES (1, ?1, ?2, ?3)
      ON CONFLICT DO UPDATE SET maximum_bytes = excluded.maximum_bytes, maximum_rows = excluded.maximum_rows,
        maximum_ms = excluded.maximum_ms, checked_id = 0
      """
    ) { (statement) throws(CacheStoreError) in
      statement.bind(1, limits.maximumBytes)
      statement.bind(2, limits.maximumRows.map { Int64($0) })
      statement.bind(3, limits.maximumAge.map { max(1, $0.wholeNanoseconds / 1_000_000) })
      try statement.run()
    }
    knownLimits = nil
  }
}
