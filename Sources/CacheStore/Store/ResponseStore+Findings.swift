internal import CSQLite
internal import CXXHash
internal import PlatformC

extension ResponseStore {
  /// Checks everything that can be wrong with the store, and repairs what it can where `repair` is set.
  ///
  /// Reads every byte of the store. Never throws: a part that cannot be read is a finding.
  /// - Parameter now: Where given, pauses (`Retry-After`) still in force are findings too, and a repair ends them.
  package func findings(repair: Bool = false, at now: StartMark? = nil) async -> [StoreFinding] {
    var found = [libraries]
    do throws(CacheStoreError) {
      if case .missing = try files.presence() { return found + [notThere] }
    } catch {
      return found + [StoreFinding("file", .wrong, error.message, remedy: error.remedy)]
    }
    do throws(CacheStoreError) {
      // This check comes first: a file that is not a store is left as it is, its mode included.
      let damage = try await damage(repair)
      found += [place] + modes(repair) + quarantined + damage
      // The other checks mean nothing for a file whose structure is broken.
      guard !damage.contains(where: { $0.severity == .wrong }) else { return found }
      found.append(try await schema())
      found += try await rows(repair)
      found += try await bodies(repair)
      found += try await log(repair)
      found += try await limit()
      found += try await digestKey(repair)
      if let now { found += try await pauses(repair, at: now) }
    } catch {
      found.append(StoreFinding("file", .wrong, error.message, remedy: error.remedy))
    }
    return found
  }

  private var notThere: StoreFinding {
    guard let obstacle = files.obstacle() else {
      return StoreFinding("file", .fine, "there is no store at \(files.database) yet")
    }
    return StoreFinding(
      "file", .wrong, "\(obstacle): nothing is kept", remedy: .writableStore)
  }

  private var libraries: StoreFinding {
    StoreFinding(
      "libraries", .fine,
      "SQLite \(SQLiteLibrary.version), \(KeyedDigest.library), "
        + "xxHash \(Self.dotted(cachefetch_xxhash_version()))"
    )
  }

  /// A version as xxHash counts them: 803 is 0.8.3.
  package static func dotted(_ version: Int32) -> String {
    "\(version / 10000).\(version / 100 % 100).\(version % 100)"
  }

  private var place: StoreFinding {
    if files.isForeign {
      let owner = FileStatus(path: files.database).map { String($0.owner) } ?? "somebody else"
      return StoreFinding(
        "file", .fine, "\(files.database) is the store of user \(owner), and only looked at")
    }
    guard !files.isWritable else { return StoreFinding("file", .fine, files.database) }
    return StoreFinding(
      "file", .fine,
      "\(files.database) may not be written: what is stored is delivered, and nothing new is kept",
      remedy: .ownStore)
  }

  private func pauses(_ repair: Bool, at now: StartMark) async throws(CacheStoreError) -> [StoreFinding] {
    let found = try await pauses(at: now)
    let isEnded = repair && !configuration.isReadOnly
    if isEnded { try await endPauses(at: now) { _ in true } }
    return found.map { pause in
      let seconds = ((pause.pause.remaining(at: now) ?? 0) + 999) / 1_000
      let left = seconds < 60 ? "\(seconds) s" : "\((seconds + 59) / 60) min"
      let asker = pause.account.isEmpty ? "" : " (account \(pause.account))"
      return StoreFinding(
        "pause", isEnded ? .repaired : .fine,
        "\(pause.origin)\(asker) asked to be left alone, for \(left) more",
        remedy: isEnded ? nil : .endPause(of: StoredPause.host(of: pause.responder)))
    }
  }

  private var quarantined: [StoreFinding] {
    QuarantinedFiles(files: files).all().map {
      StoreFinding(
        "quarantined", .fine, "a damaged store is kept as \($0)",
        remedy: "remove it if nothing in it is missed"
      )
    }
  }

  // MARK: Modes

  private func modes(_ repair: Bool) -> [StoreFinding] {
    var found: [StoreFinding] = []
    for path in [
      files.database, files.log, files.sharedMemory, files.lock, files.key, files.usageJournal,
      files.upstreamCounts,
    ] {
      guard let status = FileStatus(path: path), status.mode & 0o077 != 0 else { continue }
      let message = "others may read or write \(path)"
      // A link's own mode counts for nothing, and what it leads to is somebody else's.
      guard status.kind == .file else {
        found.append(StoreFinding("mode", .wrong, message, remedy: "remove it: it is not a regular file"))
        continue
      }
      let isRepaired = repair && chmod(path, 0o600) == 0
      let remedy: Remedy = repair ? "give that file the mode 600" : .repair
      found.append(
        StoreFinding("mode", isRepaired ? .repaired : .wrong, message, remedy: isRepaired ? nil : remedy))
    }
    if let folder = FileStatus(path: files.folder),
      files.isForeign ? folder.mode & 0o022 != 0 : folder.isSharedFolder
    {
      found.append(
        StoreFinding(
          "folder", .wrong, "others may put files into the store's folder \(files.folder)",
          remedy: "keep the store in a folder of mode 700"))
    }
    return found.isEmpty ? [StoreFinding("mode", .fine, "only its owner may read the store")] : found
  }

  // MARK: Schema

  /// The schema's version and the journal mode. The damage check has already verified every table and column.
  private func schema() async throws(CacheStoreError) -> StoreFinding {
    let message = try await query { (connection) throws(CacheStoreError) -> String in
      let version = try connection.integer("PRAGMA user_version") ?? 0
      return "schema \(version), the newest that this release knows; \(try Self.manner(connection))"
    }
    return StoreFinding("schema", .fine, message ?? "the store is still empty")
  }

  private static func manner(_ connection: Connection) throws(CacheStoreError) -> String {
    guard connection.purpose.isShared else { return "read as it stands, without sharing memory with others" }
    let mode = try connection.withStatement("PRAGMA journal_mode") { (statement) throws(CacheStoreError) in
      try statement.step() ? statement.text(0) : ""
    }
    return mode == "wal"
      ? "written through a write-ahead log"
      : "without a write-ahead log, as an exported copy is, and a store where memory cannot be shared"
  }

  // MARK: Damage

  private func damage(_ repair: Bool) async throws(CacheStoreError) -> [StoreFinding] {
    let (files, isReadOnly) = (files, configuration.isReadOnly)
    let problems = try await read { deadline throws(CacheStoreError) -> [String] in
      do throws(CacheStoreError) {
        guard let connection = try Connection.openToRead(files, waitingUntil: deadline) else { return [] }
        guard try DamageCheck.isSound(connection) else {
          return try DamageCheck.problems(connection, limit: 10)
        }
        return []
      } catch {
        guard error.isDamage, error.reason != .foreignFile else { throw error }
        // The next check brings it up to date.
        if error.reason == .earlierSchema(isOfRelease: true), !isReadOnly { return [] }
        return [error.message]
      }
    }
    guard !problems.isEmpty else {
      return [StoreFinding("integrity", .fine, "the database structure is intact")]
    }
    guard repair else {
      return problems.map { StoreFinding("integrity", .wrong, $0, remedy: .repair) }
    }
    let isReplaced = try await writer.repair()
    return problems.map { StoreFinding("integrity", isReplaced ? .repaired : .wrong, $0) }
  }

  /// Throws `corrupt` where the structure of the file is damaged, and `foreignFile` where it is empty.
  ///
  /// A damaged page can make rows disappear without an error. So a file of which nothing is repaired must be checked
  /// before its rows are listed.
  package func requireSoundStructure() async throws(CacheStoreError) {
    let isSound = try await query { (connection) throws(CacheStoreError) in
      try DamageCheck.isSound(connection)
    }
    guard let isSound else {
      throw CacheStoreError(.foreignFile, CacheStoreError.notAStore(files.database))
    }
    guard isSound else { throw CacheStoreError.sqlite(SQLITE_CORRUPT, path: files.database) }
  }

  /// Verifies every row with its whole body.
  private func rows(_ repair: Bool) async throws(CacheStoreError) -> [StoreFinding] {
    let bad =
      try await query { (connection) throws(CacheStoreError) in
        try RowCheck.damagedRows(connection)
      } ?? []
    guard !bad.isEmpty else {
      return [StoreFinding("checksums", .fine, "every stored byte is as it was written")]
    }
    if repair {
      try await writer.change { (connection) throws(CacheStoreError) in
        try self.removeUnread(bad, connection)
      }
    }
    return [
      StoreFinding(
        "checksums", repair ? .repaired : .wrong,
        "\(Counted.text(bad.count, "stored response")) \(bad.count == 1 ? "is" : "are") damaged",
        remedy: repair ? nil : .repairRemoves)
    ]
  }

  /// Bodies that no row refers to, as after damage to a row's `body_id`: no other step ever collects them. No finding
  /// where there are none.
  private func bodies(_ repair: Bool) async throws(CacheStoreError) -> [StoreFinding] {
    let condition = """
      checksum IS NOT NULL AND released_at_ms IS NULL AND id NOT IN (SELECT body_id FROM last_request)
      """
    let count =
      try await query { (connection) throws(CacheStoreError) in
        try connection.first("SELECT count(*) FROM body WHERE \(condition)", [])
      } ?? 0
    guard let count, count > 0 else { return [] }
    let message =
      count == 1 ? "1 stored body belongs to no response" : "\(count) stored bodies belong to no response"
    guard repair else {
      return [StoreFinding("bodies", .wrong, message, remedy: .repairRemoves)]
    }
    try await writer.change { (connection) throws(CacheStoreError) in
      connection.noteReleased()
      _ = try connection.first("UPDATE body SET released_at_ms = 0 WHERE \(condition)", [])
    }
    return [StoreFinding("bodies", .repaired, message)]
  }

  /// Removes damaged rows, and releases the bodies that they name unless another row has them: the damage may be in
  /// that very name.
  private func removeUnread(_ rows: [Int64], _ connection: Connection) throws(CacheStoreError) {
    var bodies: Set<Int64> = []
    for id in rows {
      let body = try connection.first("SELECT body_id FROM last_request WHERE id = ?1", [id])
      if let body { bodies.insert(body) }
      try rowWriter.deleteRow(id, connection)
    }
    try connection.withStatement("SELECT body_id FROM last_request") { (statement) throws(CacheStoreError) in
      while try statement.step() { bodies.remove(statement.integer(0)) }
    }
    for body in bodies { try connection.release(body: body, at: 0) }
  }

  // MARK: Log and key

  private func log(_ repair: Bool) async throws(CacheStoreError) -> [StoreFinding] {
    let bytes = FileStatus(path: files.log)?.bytes ?? 0
    guard bytes > 16 << 20 else {
      return [StoreFinding("log", .fine, "the write-ahead log has \(bytes) bytes")]
    }
    let message = "the write-ahead log has grown to \(bytes) bytes"
    guard repair else { return [StoreFinding("log", .wrong, message, remedy: .repair)] }
    let isDone = try await writer.perform { (connection) throws(CacheStoreError) in
      try connection.checkpoint(.truncating)
    }
    return [
      StoreFinding("log", isDone ? .repaired : .wrong, message, remedy: isDone ? nil : "end its readers")
    ]
  }

  /// Whether the disk has room for what the store may take; no finding where it has.
  private func limit() async throws(CacheStoreError) -> [StoreFinding] {
    let limit = try await limits().inForce.maximumBytes ?? configuration.maximumBytes
    let used = [files.database, files.log].map { FileStatus(path: $0)?.bytes ?? 0 }.reduce(0, +)
    guard let free = Platform.freeBytes(at: files.database), limit > used + free else { return [] }
    return [
      StoreFinding(
        "limit", .fine, "the store may take \(limit) bytes, and its disk has room for \(used + free)",
        remedy: .smallerStore(max(1, (used + free) >> 21) << 20))
    ]
  }

  /// Whether the current key still leads to the accounts named by digests.
  private func digestKey(_ repair: Bool) async throws(CacheStoreError) -> [StoreFinding] {
    let (accounts, proof) =
      try await query { (connection) throws(CacheStoreError) -> (Int64, String?) in
        let count = try connection.first("SELECT count(*) FROM account WHERE name LIKE 'auto:%'", []) ?? 0
        let proof = try connection.withStatement("SELECT proof FROM digest_key") {
          (statement) throws(CacheStoreError) in
          try statement.step() ? statement.text(0) : nil
        }
        return (count, proof)
      } ?? (0, nil)
    let key: DigestKey?
    do throws(CacheStoreError) {
      key = try DigestKey.load(nextTo: files.database, isForeign: files.isForeign)
    } catch {
      return [StoreFinding("digest-key", .wrong, error.message, remedy: error.remedy)]
    }
    guard accounts > 0, let proof, proof != key?.proof else {
      return [StoreFinding("digest-key", .fine, key == nil ? "not needed yet" : files.key)]
    }
    let message =
      "the digest key \(files.key) was lost or replaced: responses to requests with credentials cannot be found any more"
    guard repair else {
      return [
        StoreFinding("digest-key", .wrong, message, remedy: .restoreKey)
      ]
    }
    try await writer.change { (connection) throws(CacheStoreError) in
      _ = try connection.first("DELETE FROM account WHERE name LIKE 'auto:%'", [])
      _ = try connection.first("DELETE FROM digest_key", [])
    }
    return [StoreFinding("digest-key", .repaired, message)]
  }
}
