internal import PlatformFoundation

/// The steps by which rows and their bodies are written and deleted. Each runs inside a transaction of its caller.
struct RowWriter: Sendable {
  private let files: StoreFiles
  private let configuration: StoreConfiguration

  init(files: StoreFiles, configuration: StoreConfiguration) {
    self.files = files
    self.configuration = configuration
  }

  // MARK: Bodies

  /// Inserts a body without chunks; a checksum of `nil` is one of a body that has yet to arrive.
  ///
  /// - Parameters:
  ///   - target: Where given, a download of that target can be resumed, by the validator and the length beside it.
  func insertBody(
    accountID: Int64, checksum: Int64?, target: String? = nil, strongETag: String? = nil,
    wholeLength: Int64? = nil, _ connection: Connection
  ) throws(CacheStoreError) -> Int64 {
    let statement = try connection.statement(.insertBody)
    statement.bind(1, accountID)
    statement.bind(2, checksum)
    statement.bind(3, target)
    statement.bind(4, strongETag)
    statement.bind(5, wholeLength)
    statement.bind(6, configuration.now())
    try statement.run()
    return connection.lastInsertedRow
  }

  /// - Returns: The chunk's checksum.
  func insertChunk(
    _ bytes: Data, number: Int, of body: Int64, _ connection: Connection
  ) throws(CacheStoreError) -> Int64 {
    let checksum = Checksum.ofChunk(bytes, body: body, number: number)
    let statement = try connection.statement(.insertChunk)
    statement.bind(1, body)
    statement.bind(2, number)
    statement.bind(3, checksum)
    try statement.run(borrowing: bytes, at: 4)
    guard connection.changes == 1 else { throw CacheStoreError(.signedOut, "the account was signed out") }
    return checksum
  }

  /// The checksum of a complete body, of one chunk or several; `nil` where the body is gone.
  func wholeChecksum(
    of body: Int64, length: Int64, _ connection: Connection
  ) throws(CacheStoreError) -> Int64? {
    let first = try connection.statement(.chunk)
    defer { first.reset() }
    first.bind(1, body)
    first.bind(2, 0)
    guard try first.step() else { return nil }
    return first.bytes(1).count == length
      ? Checksum.ofBody(chunk: first.integer(0)) : try connection.bodyChecksum(of: body)
  }

  /// Deletes a replaced body of one chunk, and keeps a longer one for its readers (law 10).
  func releaseReplaced(body: Int64, length: Int64, _ connection: Connection) throws(CacheStoreError) {
    if length <= configuration.chunkBytes, try !hasSecondChunk(body, connection) {
      let statement = try connection.statement(.deleteBody)
      statement.bind(1, body)
      try statement.run()
    } else {
      try connection.release(body: body, at: configuration.now())
    }
  }

  /// Whether a short body has more than one chunk, as one has whose download was cut off and resumed.
  private func hasSecondChunk(_ body: Int64, _ connection: Connection) throws(CacheStoreError) -> Bool {
    let second = try connection.statement(.chunk)
    defer { second.reset() }
    second.bind(1, body)
    second.bind(2, 1)
    return try second.step()
  }

  /// Deletes a body of one chunk; releases a longer one for the collection, which deletes it chunk by chunk.
  private func discard(body: Int64, length: Int64, _ connection: Connection) throws(CacheStoreError) {
    if length <= configuration.chunkBytes {
      let statement = try connection.statement(.deleteBody)
      statement.bind(1, body)
      try statement.run()
    } else {
      try connection.release(body: body, at: 0)
    }
  }

  // MARK: Rows

  /// Deletes a row and its body. The number of a damaged row's body may be another's, which then stays (law 10).
  ///
  /// - Parameter isReplaced: Whether a long body is kept for its readers.
  func deleteRow(
    _ row: Int64, withBody body: Int64, length: Int64, isReplaced: Bool = false, _ connection: Connection
  ) throws(CacheStoreError) {
    let isSound = try connection.rowHead(row)?.isSound == true
    try deleteRow(row, connection)
    if !isSound, try !isOrphan(body, connection) { return }
    if isReplaced {
      try releaseReplaced(body: body, length: length, connection)
    } else {
      try discard(body: body, length: length, connection)
    }
  }

  /// Whether a body is complete and belongs to no row.
  private func isOrphan(_ body: Int64, _ connection: Connection) throws(CacheStoreError) -> Bool {
    guard try connection.bodyChecksum(of: body) != nil else { return false }
    return try connection.first(Query.rowOfBodyText, [body]) == nil
  }

  /// Deletes a row without its body.
  func deleteRow(_ row: Int64, _ connection: Connection) throws(CacheStoreError) {
    try storeUsageJournal(connection)
    let statement = try connection.statement(.deleteRow)
    statement.bind(1, row)
    try statement.run()
  }

  /// Stores the contents of `STORE.uses`, inside a transaction and at most once in each.
  ///
  /// Runs before a row is deleted too: its identifier may be reused, and the time of last use decides which row is
  /// evicted.
  /// - Parameter isLast: Whether the file must be empty afterwards.
  func storeUsageJournal(isLast: Bool = false, _ connection: Connection) throws(CacheStoreError) {
    guard !connection.hasStoredUsageJournal, !configuration.isReadOnly else { return }
    connection.hasStoredUsageJournal = true
    guard let taken = UsageJournal(files: files).take(isLast: isLast) else { return }
    connection.afterCommit = { taken.remove() }
    let lines = UsageJournalLines(taken.bytes, of: connection.identity?.inode ?? 0)
    for mark in lines.marks { try connection.add(mark) }
    for (name, count) in lines.events { try connection.add(event: name, count) }
    for count in lines.counts where try connection.hasAccount(count.account) { try connection.add(count) }
  }

  // MARK: Places under a key

  /// A row that another response replaces.
  struct Existing {
    var id: Int64
    var bodyID: Int64
    var bodyBytes: Int64
    var isPinned: Bool
    /// Whether it has another place than the response.
    var isOfOtherVariant: Bool
  }

  /// The place of a response under its key.
  enum Place {
    /// The row to be overwritten, if there is one, the others that are replaced too, and the number of all.
    case open(Existing?, others: [Existing], variants: Int)
    /// A later exchange has written a row that answers the same request.
    case newer
  }

  /// Gives a row another variant, and so another place under its key. A row that has that place is replaced, as by a
  /// response that is stored there.
  ///
  /// The caller writes the rest of the row, with its new checksum, in the same transaction.
  /// - Returns: `false` where that other row was written by an exchange that began later.
  func move(
    _ row: inout StoredResponse, of key: RequestKey, to variant: String, _ connection: Connection
  ) throws(CacheStoreError) -> Bool {
    guard row.variant != variant else { return true }
    let place = try place(
      of: key, accountID: row.accountID, isGood: row.isGood, variant: variant, started: row.head.started,
      connection)
    guard case .open(let existing, _, _) = place else { return false }
    if let existing {
      try absorb(existing, into: row.id, connection)
      row.isPinned = row.isPinned || existing.isPinned
    }
    try setVariant(of: row.id, variant, connection)
    row.variant = variant
    return true
  }

  /// Deletes a row whose place another takes, which gets its tags.
  func absorb(
    _ replaced: Existing, into row: Int64, _ connection: Connection
  ) throws(CacheStoreError) {
    _ = try connection.first(
      "UPDATE OR IGNORE tag SET request_id = ?2 WHERE request_id = ?1", [replaced.id, row])
    try deleteRow(
      replaced.id, withBody: replaced.bodyID, length: replaced.bodyBytes, isReplaced: true, connection)
  }

  /// Apart from the statement that updates a row: with the variant in it, each overwrite would write the index too.
  func setVariant(
    of row: Int64, _ variant: String, _ connection: Connection
  ) throws(CacheStoreError) {
    _ = try connection.first("UPDATE last_request SET variant = ?2 WHERE id = ?1", [row], [variant])
  }

  /// The place of a response under its key, among the rows that are there.
  ///
  /// - Parameter replaces: Whether a row of another variant is replaced too. A response that is not good replaces no
  ///   good one.
  func place(
    of key: RequestKey, accountID: Int64, isGood: Bool, variant: String,
    replacing replaces: ((_ variant: String, _ vary: String) -> Bool)? = nil, started: StartMark,
    _ connection: Connection
  ) throws(CacheStoreError) -> Place {
    let statement = try connection.statement(.findRow)
    defer { statement.reset() }
    statement.bind(key, accountID: accountID)
    var existing: Existing?
    var others: [Existing] = []
    var variants = 0
    while try statement.step() {
      variants += 1
      let isAlike = statement.flag(6) == isGood
      let isOfOtherVariant = !isAlike || !statement.isText(7, variant)
      if isOfOtherVariant {
        guard let replaces, isGood || isAlike, replaces(statement.text(7), statement.text(8)) else {
          continue
        }
      }
      if statement.isText(3, started.boot), statement.integer(4) > started.nanoseconds,
        isBelieved(statement.integer(4))
      {
        if isAlike { return .newer }
        continue
      }
      let row = Existing(
        id: statement.integer(0), bodyID: statement.integer(1), bodyBytes: statement.integer(2),
        isPinned: statement.flag(5), isOfOtherVariant: isOfOtherVariant)
      // Two rows must not have one place, so the row that has the response's own is the one to be overwritten.
      if isAlike, existing == nil || !isOfOtherVariant {
        if let existing { others.append(existing) }
        existing = row
      } else {
        others.append(row)
      }
    }
    return .open(existing, others: others, variants: variants)
  }

  // MARK: Tombstones

  /// Whether the target, alone or among others, was removed or invalidated after the exchange began (law 8).
  /// - Parameter tags: Those that the exchange's row is to have.
  func hasTombstone(
    _ target: String, _ accountID: Int64, _ started: StartMark, tags: [String] = [],
    _ connection: Connection
  ) throws(CacheStoreError) -> Bool {
    guard try connection.mayHaveRemovals() else { return false }
    let statement = try connection.statement(.removedSince)
    defer { statement.reset() }
    statement.bind(1, accountID)
    statement.bind(2, Checksum.ofTarget(target))
    statement.bind(3, started.boot)
    statement.bind(4, started.nanoseconds)
    var isAmongMany = false
    while try statement.step() {
      guard isBelieved(statement.integer(0)) else { continue }
      if statement.integer(1) != 0 { return true }
      isAmongMany = true
    }
    guard isAmongMany else { return false }
    let hashes = Fence.names(of: target, tags: tags).map { "\(Checksum.ofTarget($0))" }
    return try connection.first(
      """
      SELECT 1 FROM removal WHERE account_id = ?1 AND target_hash IN (\(hashes.joined(separator: ", ")))
        AND started_ns > ?2 AND started_ns <= ?3 AND started_boot = ?4
      """, [accountID, started.nanoseconds, configuration.bootNow()], [started.boot]) != nil
  }

  /// Whether a start mark of this boot can be right. A mark later than now comes from another time namespace or a
  /// manipulated clock, and is ignored (law 8).
  func isBelieved(_ nanoseconds: Int64) -> Bool { nanoseconds <= configuration.bootNow() }

  /// Whether an exchange began before the one that wrote a row; `false` where that row's mark cannot be right.
  func isBefore(_ started: StartMark, _ other: StartMark) -> Bool {
    started.isBefore(other) && isBelieved(other.nanoseconds)
  }

  /// Notes that what the selection means of exchanges under way was removed or invalidated.
  func recordFence(
    _ selection: EntrySelection, _ started: StartMark, _ connection: Connection
  ) throws(CacheStoreError) {
    let accounts = selection.key.map { [$0.account] } ?? selection.accounts
    var ids: [Int64] = []
    try connection.withStatement("SELECT id, name FROM account") { (statement) throws(CacheStoreError) in
      while try statement.step() {
        if accounts?.contains(statement.text(1)) ?? true { ids.append(statement.integer(0)) }
      }
    }
    for name in Fence.names(selection, now: configuration.now()) {
      for id in ids { try recordTombstone(name, id, started, connection) }
    }
  }

  /// Notes that a target was removed or invalidated, or what a fence names; `nil` says that there is such a name.
  func recordTombstone(
    _ target: String?, _ accountID: Int64, _ started: StartMark, _ connection: Connection
  ) throws(CacheStoreError) {
    connection.noteRemoval()
    let statement = try connection.statement(.recordRemoval)
    statement.bind(1, accountID)
    statement.bind(2, target.map(Checksum.ofTarget) ?? 0)
    statement.bind(3, started.boot)
    statement.bind(4, started.nanoseconds)
    statement.bind(5, configuration.now())
    statement.bind(6, configuration.bootNow())
    try statement.run()
  }
}

extension Statement {
  /// Binds the first four parameters: the account and what names the request within it.
  func bind(_ key: RequestKey, accountID: Int64) {
    bind(1, accountID)
    bind(2, key.target)
    bind(3, key.method)
    bind(4, key.extra)
  }
}
