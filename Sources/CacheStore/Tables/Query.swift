/// The statements that each connection prepares once and reuses; a statement used only once is written where it is
/// used.
enum Query: Int, CaseIterable {
  case lookUp, lookUpAhead, rowByID, bodyChecksum, bodyOwner, chunk
  case accountID, insertAccount
  case findRow, insertRow, updateRow, deleteRow, oldestVariant
  case giveUpPartial, unfinishedBodies, arrivingBodies, insertPartial, deletePartial
  case insertBody, finishBody, releaseBody, deleteBody, updateSingleChunk, insertChunk, insertOnlyChunk
  case anyRemoval, removedSince, recordRemoval, rowsOfTarget
  case insertTag, setPinned, insertUse, markUsed, addUsage, addEvent
  case pauseOf
  case usedAt, tagsOfRow, preflight
  case pageCount, freePages, rowCount, unfinishedCount, dataVersion, lastBody, leastRecentlyUsed,
    releasedBodies,
    deleteOneChunk
  case unfinishedAfter
  case storeLimits

  var sql: String {
    switch self {
    case .lookUp: Self.lookUpText
    case .lookUpAhead: Self.lookUpAheadText
    case .rowByID: Self.rowByIDText
    case .rowsOfTarget: Self.rowsOfTargetText
    case .bodyChecksum: "SELECT checksum FROM body WHERE id = ?1"
    case .preflight: Self.preflightText
    case .bodyOwner: "SELECT account_id FROM body WHERE id = ?1 AND released_at_ms IS NULL"
    case .chunk: "SELECT checksum, bytes FROM chunk WHERE id = ?1 << 20 | ?2"
    case .accountID: "SELECT id FROM account WHERE name = ?1"
    case .insertAccount: "INSERT INTO account (name) VALUES (?1)"
    case .findRow: Self.findRowText
    case .insertRow: RowCoder.insertText
    case .updateRow: RowCoder.updateText
    case .deleteRow: "DELETE FROM last_request WHERE id = ?1"
    case .oldestVariant: Self.oldestVariantText
    case .insertBody:
      """
      INSERT INTO body (account_id, checksum, partial_target, partial_etag, partial_bytes, begun_at_ms)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6)
      """
    case .finishBody:
      """
      UPDATE body SET checksum = ?2, partial_target = NULL, partial_etag = NULL, partial_bytes = NULL
      WHERE id = ?1 AND checksum IS NULL AND released_at_ms IS NULL
      """
    case .giveUpPartial:
      """
      UPDATE body SET partial_target = NULL, partial_etag = NULL, partial_bytes = NULL
      WHERE id = ?1 AND checksum IS NULL
      """
    // Without INDEXED BY, SQLite would scan all bodies in rowid order to avoid sorting the few that match.
    case .unfinishedBodies:
      """
      SELECT id FROM body INDEXED BY body_unfinished WHERE checksum IS NULL AND released_at_ms IS NULL
      ORDER BY id
      """
    case .arrivingBodies: Self.arrivingBodiesText
    case .unfinishedAfter:
      """
      SELECT id FROM body INDEXED BY body_unfinished
      WHERE checksum IS NULL AND (partial_target IS NULL OR begun_at_ms <= ?1) AND id > ?2
        AND released_at_ms IS NULL
      ORDER BY id LIMIT 1
      """
    case .releaseBody: "UPDATE body SET released_at_ms = ?2 WHERE id = ?1"
    case .deleteBody: "DELETE FROM body WHERE id = ?1"
    // The length matches only a body of a single chunk; `length()` of a BLOB does not read its bytes.
    case .updateSingleChunk:
      "UPDATE chunk SET checksum = ?3, bytes = ?4 WHERE id = ?1 << 20 AND length(bytes) = ?2"
    // Inserts nothing once the body's row is gone, as it is after a sign-out.
    case .insertChunk:
      "INSERT INTO chunk (id, checksum, bytes) SELECT ?1 << 20 | ?2, ?3, ?4 FROM body WHERE id = ?1"
    // Runs in the transaction that inserted the body, so the body need not be looked up. An INSERT … SELECT as above
    // may need a statement journal, and then SQLite copies every page before changing it.
    case .insertOnlyChunk: "INSERT INTO chunk (id, checksum, bytes) VALUES (?1 << 20, ?2, ?3)"
    case .anyRemoval: "SELECT EXISTS (SELECT 1 FROM removal)"
    case .removedSince:
      // Two index lookups: IN would build an ephemeral table for the two numbers, which costs more than the rest of
      // an overwrite.
      """
      SELECT started_ns, target_hash FROM removal
      WHERE account_id = ?1 AND target_hash = 0 AND started_boot = ?3 AND started_ns > ?4
      UNION ALL
      SELECT started_ns, target_hash FROM removal
      WHERE account_id = ?1 AND target_hash = ?2 AND started_boot = ?3 AND started_ns > ?4
      """
    case .recordRemoval: Self.recordRemovalText
    case .insertTag: "INSERT OR IGNORE INTO tag (name, request_id) VALUES (?1, ?2)"
    case .setPinned: "UPDATE last_request SET pinned = ?2 WHERE id = ?1"
    // A new row has no entry yet, unless rows were deleted by hand. OR REPLACE would need a statement journal, see
    // above.
    case .insertUse: "INSERT OR IGNORE INTO last_use (request_id, used_at_ms) VALUES (?1, ?2)"
    case .markUsed: "UPDATE last_use SET used_at_ms = ?2 WHERE request_id = ?1 AND used_at_ms < ?2"
    case .addUsage: Self.addUsageText
    case .addEvent:
      """
      INSERT INTO event_count (name, count) VALUES (?1, ?2)
      ON CONFLICT DO UPDATE SET count = min(count + excluded.count, \(Self.mostCounted))
      """
    case .usedAt: "SELECT used_at_ms FROM last_use WHERE request_id = ?1"
    case .tagsOfRow: "SELECT name FROM tag WHERE request_id = ?1 ORDER BY name"
    case .pageCount: "PRAGMA page_count"
    case .freePages: "PRAGMA freelist_count"
    // Every row has one entry in `last_use`, which is the smallest B-tree to count.
    case .rowCount: "SELECT count(*) FROM last_use"
    case .unfinishedCount: "SELECT count(*) FROM body INDEXED BY body_unfinished WHERE checksum IS NULL"
    case .dataVersion: "PRAGMA data_version"
    case .lastBody: "SELECT seq FROM sqlite_sequence WHERE name = 'body'"
    // CROSS JOIN fixes the order of the two tables: the other way round SQLite would read and sort every row to find
    // one.
    case .leastRecentlyUsed:
      """
      SELECT r.id, r.body_id, r.body_bytes
      FROM last_use u INDEXED BY last_use_oldest CROSS JOIN last_request r ON r.id = u.request_id
      WHERE r.pinned = 0 AND r.id <> ?1 ORDER BY u.used_at_ms LIMIT 1
      """
    case .storeLimits: "SELECT maximum_bytes, maximum_rows, maximum_ms FROM store_limit WHERE id = 1"
    case .releasedBodies:
      "SELECT id, released_at_ms FROM body WHERE released_at_ms IS NOT NULL ORDER BY released_at_ms"
    case .deleteOneChunk:
      """
      DELETE FROM chunk WHERE id = (SELECT min(id) FROM chunk WHERE id >= ?1 << 20 AND id < (?1 + 1) << 20)
      """
    case .insertPartial:
      "INSERT INTO partial (body_id, extra, variant, url, fields, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
    case .deletePartial: "DELETE FROM partial WHERE body_id = ?1"
    case .pauseOf:
      """
      SELECT p.heard_boot, p.heard_ns, p.pause_ms FROM account a JOIN pause p ON p.account_id = a.id
      WHERE a.name = ?1 AND p.responder = ?2
      """
    }
  }
}

// MARK: Rows

extension Query {
  private static let isKey = "account_id = ?1 AND target = ?2 AND method = ?3 AND extra = ?4"

  /// No ORDER BY: a sorter would copy the bodies. The caller selects among the variants.
  private static let lookUpText =
    "SELECT \(RowCoder.selected), c.checksum, c.bytes \(rowsOfKey) WHERE a.name = ?1"

  /// The lookup with the columns of ``preflightText``, which saves each exchange a second query.
  private static let lookUpAheadText = """
    SELECT p.heard_boot, p.heard_ns, p.pause_ms,
      EXISTS (SELECT 1 FROM body WHERE checksum IS NULL AND account_id = a.id AND partial_target = ?2),
      \(RowCoder.selected), c.checksum, c.bytes
    \(rowsOfKey)
    LEFT JOIN pause p ON p.account_id = a.id AND p.responder = ?5
    WHERE a.name = ?1
    """

  private static let rowsOfKey = """
    FROM account a
    LEFT JOIN last_request r ON r.account_id = a.id AND r.target = ?2 AND r.method = ?3 AND r.extra = ?4
    LEFT JOIN chunk c ON c.id = r.body_id << 20
    """

  private static let rowByIDText = rowByID("length(c.bytes)")

  /// A row with its first chunk, where ``Query/rowByID`` gives only that chunk's length.
  static let wholeRowText = rowByID("c.bytes")

  /// The last identifier that an account has had.
  static let lastAccountText = "SELECT seq FROM sqlite_sequence WHERE name = 'account'"

  /// The row that a body belongs to. No index leads to it, since only the removal of a damaged body asks.
  static let rowOfBodyText = "SELECT id FROM last_request WHERE body_id = ?1"

  private static func rowByID(_ chunk: String) -> String {
    """
    SELECT \(RowCoder.selectedWithRequest), c.checksum, \(chunk), a.name FROM last_request r
    JOIN account a ON a.id = r.account_id
    LEFT JOIN chunk c ON c.id = r.body_id << 20
    WHERE r.id = ?1
    """
  }

  private static let rowsOfTargetText = "SELECT id FROM last_request WHERE account_id = ?1 AND target = ?2"

  /// Every row of a key: at most sixteen, nearly always one. Adding one requires their number.
  private static let findRowText = """
    SELECT id, body_id, body_bytes, started_boot, started_ns, pinned, good, variant, vary
    FROM last_request WHERE \(isKey)
    """

  private static let oldestVariantText = """
    SELECT id, body_id, body_bytes FROM last_request WHERE \(isKey) AND pinned = 0
    ORDER BY received_at_ms, id LIMIT 1
    """
}

// MARK: Bodies

extension Query {
  /// The unfinished bodies for which no row is evicted, and at least as many pages as each takes: of a chunk its
  /// overflow pages, of ?1 bytes each, with one for what is left of it and one for its place in the table. `length()`
  /// of a BLOB does not read its bytes.
  private static let arrivingBodiesText = """
    SELECT b.id,
      (SELECT sum(length(bytes) / ?1 + 2) FROM chunk WHERE id >= b.id << 20 AND id < (b.id + 1) << 20)
    FROM body b INDEXED BY body_unfinished
    WHERE b.checksum IS NULL AND b.released_at_ms IS NULL
      AND (b.partial_target IS NOT NULL OR b.partial_bytes IS NULL)
    """
}

// MARK: Order and counts

extension Query {
  /// Whether the origin sent a `Retry-After`, and whether a download of the target was cut off.
  private static let preflightText = """
    SELECT p.heard_boot, p.heard_ns, p.pause_ms,
      EXISTS (SELECT 1 FROM body WHERE checksum IS NULL AND account_id = ?1 AND partial_target = ?3)
    FROM account a LEFT JOIN pause p ON p.account_id = a.id AND p.responder = ?2 WHERE a.id = ?1
    """

  /// Replaces an earlier mark of the same boot, any mark of another boot, and any mark later than now (?6).
  private static let recordRemovalText = """
    INSERT INTO removal (account_id, target_hash, started_boot, started_ns, removed_at_ms) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT DO UPDATE SET started_boot = excluded.started_boot, started_ns = excluded.started_ns,
      removed_at_ms = excluded.removed_at_ms
    WHERE removal.started_boot <> excluded.started_boot OR removal.started_ns < excluded.started_ns
      OR removal.started_ns > ?6
    """

  /// The upper bound of every counter: the sum of two counters at the bound still fits an `Int64`.
  static let mostCounted: Int64 = 1 << 53

  private static let addUsageText = """
    INSERT INTO usage (account_id, host, stored, fresh, unchanged, failed, saved_bytes, saved_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT DO UPDATE SET
      stored = min(stored + excluded.stored, \(mostCounted)),
      fresh = min(fresh + excluded.fresh, \(mostCounted)),
      unchanged = min(unchanged + excluded.unchanged, \(mostCounted)),
      failed = min(failed + excluded.failed, \(mostCounted)),
      saved_bytes = min(saved_bytes + excluded.saved_bytes, \(mostCounted)),
      saved_ms = min(saved_ms + excluded.saved_ms, \(mostCounted))
    """
}
