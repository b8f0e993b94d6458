/// Copies every row of a damaged store that can still be read completely into a new one, with its identifiers.
///
/// Reads and verifies each row separately, so that a bad page costs only the rows on it. Where an index had lost an
/// entry, the damaged file may have two accounts of one name, or two rows of one place under a key: the accounts become
/// one, and of the rows the one received later stays.
struct Salvage {
  let damaged: Connection
  let new: Connection
  private(set) var carriedOver = 0
  private(set) var lost = 0

  init(from damaged: Connection, to new: Connection) {
    self.damaged = damaged
    self.new = new
  }

  /// Copies everything; throws only for errors of the new file.
  mutating func run() throws(CacheStoreError) {
    try copySequences()
    try copyAccounts()
    try copyLimits()
    for id in rowIDs() {
      guard let row = read(id) else {
        lost += 1
        continue
      }
      let wasWhole = try copy(row)
      if wasWhole { carriedOver += 1 } else { lost += 1 }
    }
    for table in Self.tables { try copy(table) }
  }

  /// Every identifier that any scan still finds: a bad page that ends one scan may not end another.
  private func rowIDs() -> [Int64] {
    var found = Set<Int64>()
    for text in [
      "SELECT id FROM last_request NOT INDEXED ORDER BY id",
      "SELECT id FROM last_request NOT INDEXED ORDER BY id DESC",
      "SELECT id FROM last_request INDEXED BY sqlite_autoindex_last_request_1 ORDER BY account_id, target",
      "SELECT request_id FROM last_use NOT INDEXED",
      "SELECT request_id FROM last_use NOT INDEXED ORDER BY 1 DESC",
    ] {
      // An error ends only this scan.
      try? damaged.withStatement(text) { (statement) throws(CacheStoreError) in
        while try statement.step() { found.insert(statement.integer(0)) }
      }
    }
    return found.sorted()
  }

  private struct Row {
    var response: StoredResponse
    var key: RequestKey
    var tags: [String]
    var usedAt: Int64
  }

  private func read(_ id: Int64) -> Row? {
    guard let found = try? damaged.wholeRow(id), found.isSound else { return nil }
    var row = Row(response: found.row, key: found.key, tags: [], usedAt: found.row.receivedAt)
    row.tags = texts("SELECT name FROM tag WHERE request_id = ?1", id)
    if let used = try? damaged.first("SELECT used_at_ms FROM last_use WHERE request_id = ?1", [id]) {
      row.usedAt = used
    }
    return row
  }

  private func texts(_ sql: String, _ parameter: Int64) -> [String] {
    var found: [String] = []
    // Unreadable tags are lost; their row is not.
    try? damaged.withStatement(sql) { (statement) throws(CacheStoreError) in
      statement.bind(1, parameter)
      while try statement.step() { found.append(statement.text(0)) }
    }
    return found
  }

  /// - Returns: `false` where a chunk of the body is damaged, or a row received later has the place; then nothing of
  ///   the row is in the new file.
  private mutating func copy(_ row: Row) throws(CacheStoreError) -> Bool {
    guard let account = try self.account(of: row) else { return false }
    var response = row.response
    let body = response.body
    // The checksum covers the account's identifier, and is computed anew with the row.
    response.accountID = account
    let other = try rowInPlace(of: response, row.key)
    if let other, other.receivedAt > response.receivedAt { return false }
    _ = try new.first(
      "INSERT OR IGNORE INTO body (id, account_id, checksum, begun_at_ms) VALUES (?1, ?2, ?3, ?4)",
      [body.id, account, body.isWhole ? 0 : body.checksum, response.receivedAt])
    // No two rows share a body.
    guard new.changes == 1 else { return false }
    guard try copyChunks(of: body) else {
      _ = try new.first("DELETE FROM body WHERE id = ?1", [body.id])
      return false
    }
    if let other {
      _ = try new.first("DELETE FROM last_request WHERE id = ?1", [other.id])
      _ = try new.first("DELETE FROM body WHERE id = ?1", [other.body])
      carriedOver -= 1
      lost += 1
    }
    try new.insert(&response, row.key)
    _ = try new.first(
      "INSERT OR REPLACE INTO last_use (request_id, used_at_ms) VALUES (?1, ?2)", [response.id, row.usedAt])
    for tag in row.tags {
      _ = try new.first("INSERT OR IGNORE INTO tag (request_id, name) VALUES (?1, ?2)", [response.id], [tag])
    }
    return true
  }

  /// The account of the row's name in the new file; `nil` where its identifier is another name's.
  private func account(of row: Row) throws(CacheStoreError) -> Int64? {
    _ = try new.first(
      "INSERT OR IGNORE INTO account (id, name) VALUES (?1, ?2)", [row.response.accountID], [row.key.account])
    return try new.first("SELECT id FROM account WHERE name = ?1", [], [row.key.account])
  }

  /// The row that has been copied to the same place under the key.
  private func rowInPlace(
    of row: StoredResponse, _ key: RequestKey
  ) throws(CacheStoreError) -> (id: Int64, body: Int64, receivedAt: Int64)? {
    let text = """
      SELECT id, body_id, received_at_ms FROM last_request
      WHERE account_id = ?1 AND good = ?2 AND target = ?3 AND method = ?4 AND extra = ?5 AND variant = ?6
      """
    return try new.withStatement(text) {
      (statement) throws(CacheStoreError) -> (id: Int64, body: Int64, receivedAt: Int64)? in
      statement.bind(1, row.accountID)
      statement.bind(2, row.isGood)
      for (index, value) in [key.target, key.method, key.extra, row.variant].enumerated() {
        statement.bind(Int32(index + 3), value)
      }
      guard try statement.step() else { return nil }
      return (statement.integer(0), statement.integer(1), statement.integer(2))
    }
  }

  /// Copies chunk by chunk, each in its own transaction, so that neither memory nor the log grows with the body.
  private func copyChunks(of body: StoredResponse.Body) throws(CacheStoreError) -> Bool {
    var number = 0
    var length: Int64 = 0
    repeat {
      let current = number
      var count: Int64?
      var failure: CacheStoreError?
      // An error here comes from the damaged file; an error of the new file is kept in `failure`.
      try? damaged.withStatement("SELECT checksum, bytes FROM chunk WHERE id = ?1 << 20 | ?2") {
        (statement) throws(CacheStoreError) in
        statement.bind(1, body.id)
        statement.bind(2, current)
        guard try statement.step() else { return }
        let bytes = statement.bytes(1)
        guard Checksum.ofChunk(bytes, body: body.id, number: current) == statement.integer(0) else {
          return
        }
        do throws(CacheStoreError) {
          let insert = try new.statement(.insertChunk)
          insert.bind(1, body.id)
          insert.bind(2, current)
          insert.bind(3, statement.integer(0))
          insert.bind(4, borrowing: bytes)
          try insert.run()
          count = Int64(bytes.count)
        } catch { failure = error }
      }
      if let failure { throw failure }
      guard let count else { return false }
      length += count
      number += 1
      if new.isLogVeryLong { try new.checkpoint() }
    } while length < body.length
    return length == body.length
  }

  /// Copies accounts without rows too: an exchange under way carries its account's identifier, and a missing one
  /// would mean signed out. Of two of one name the newer stays, which the name led to last.
  private func copyAccounts() throws(CacheStoreError) {
    var accounts: [(id: Int64, name: String)] = []
    for order in ["ASC", "DESC"] {
      // An error ends only this scan.
      try? damaged.withStatement("SELECT id, name FROM account NOT INDEXED ORDER BY id \(order)") {
        (statement) throws(CacheStoreError) in
        while try statement.step() { accounts.append((statement.integer(0), statement.text(1))) }
      }
    }
    for account in accounts.sorted(by: { $0.id > $1.id }) {
      guard Self.accountIDs.contains(account.id) else { continue }
      _ = try new.first(
        "INSERT OR IGNORE INTO account (id, name) VALUES (?1, ?2)", [account.id], [account.name])
    }
  }

  /// A table whose rows are copied as they are: whole numbers first, then texts.
  private struct Table {
    let name: String
    let numbers: [String]
    let texts: [String]
    /// The column that the damaged table is ordered by.
    let order: String
    /// The table that has the first number as an identifier. A row that lacks it there leads to nothing.
    var owner: String?
  }

  /// Tags that the lookups by row missed; what was removed, so that no exchange under way brings it back (law 8); who
  /// asked to be left alone; and which digest key the accounts' names were made with.
  private static let tables = [
    Table(name: "tag", numbers: ["request_id"], texts: ["name"], order: "name", owner: "last_request"),
    Table(
      name: "removal", numbers: ["account_id", "target_hash", "started_ns", "removed_at_ms"],
      texts: ["started_boot"], order: "account_id", owner: "account"),
    Table(
      name: "pause", numbers: ["account_id", "heard_ns", "pause_ms"], texts: ["responder", "heard_boot"],
      order: "account_id", owner: "account"),
    Table(name: "digest_key", numbers: ["id"], texts: ["proof"], order: "id"),
  ]

  /// Copies what a scan from either end of the table still finds.
  private func copy(_ table: Table) throws(CacheStoreError) {
    let columns = (table.numbers + table.texts).joined(separator: ", ")
    let places = (1...table.numbers.count + table.texts.count).map { "?\($0)" }.joined(separator: ", ")
    let condition = table.owner.map { "EXISTS (SELECT 1 FROM \($0) WHERE id = ?1)" } ?? "true"
    let insert = "INSERT OR IGNORE INTO \(table.name) (\(columns)) SELECT \(places) WHERE \(condition)"
    for order in ["ASC", "DESC"] {
      var failure: CacheStoreError?
      // An error of the damaged file ends only this scan; an error of the new file is kept in `failure`.
      try? damaged.withStatement("SELECT \(columns) FROM \(table.name) ORDER BY \(table.order) \(order)") {
        (statement) throws(CacheStoreError) in
        while failure == nil, try statement.step() {
          do throws(CacheStoreError) {
            _ = try new.first(
              insert, table.numbers.indices.map { statement.integer(Int32($0)) },
              table.texts.indices.map { statement.text(Int32(table.numbers.count + $0)) })
          } catch { failure = error }
        }
      }
      if let failure { throw failure }
    }
  }

  /// Copies the store's own limits.
  private func copyLimits() throws(CacheStoreError) {
    guard let limits = try? damaged.readLimits(), limits != StoreLimits() else { return }
    try new.writeLimits(limits)
  }

  /// The identifiers that a store can have reached: those of accounts begin below 2^45, those of bodies below
  /// 2^40. A larger number is damage. It is not carried over, since SQLite gives no identifier after the
  /// largest one.
  private static let accountIDs: ClosedRange<Int64> = 1...1 << 46
  private static let bodyIDs: ClosedRange<Int64> = 1...1 << 42

  /// Continues the identifiers where the damaged file's ended, with a gap of 1000 for those that cannot be read. Where
  /// none is known, those of the new file begin at its own number.
  private func copySequences() throws(CacheStoreError) {
    for (table, possible) in [("account", Self.accountIDs), ("body", Self.bodyIDs)] {
      let sequence = try? damaged.first("SELECT seq FROM sqlite_sequence WHERE name = '\(table)'", [])
      let highest = try? damaged.first("SELECT max(id) FROM \(table)", [])
      let known = [sequence, highest].compactMap { $0 }.filter { possible.contains($0) }
      guard let last = known.max() else { continue }
      _ = try new.first("DELETE FROM sqlite_sequence WHERE name = '\(table)'", [])
      _ = try new.first("INSERT INTO sqlite_sequence (name, seq) VALUES ('\(table)', ?1)", [last + 1000])
    }
  }
}
