internal import PlatformFoundation

extension ResponseStore {
  /// The most rows of one key: the last good responses and those kept for http only.
  package static let variantLimit = 16

  /// Stores a response in one transaction: a reader sees either the whole old row or the whole new one (law 6).
  ///
  /// A body longer than a chunk is committed chunk by chunk first; the last transaction switches the row to it. Waits
  /// up to `busyTimeout` for other processes. Returns after the commit.
  ///
  /// - Parameter soon: Calls its argument at the end of the caller's turn, when the other writes of that turn have
  ///   been added.
  /// - Throws: `signedOut` where the account is gone, `full` for a body over half the store's limit, `busy`,
  ///   `readOnly` and other errors of the file. The row then stays as it was.
  package func overwrite(
    _ write: Write, soon: (@escaping @Sendable () -> Void) -> Void = { $0() }
  ) async throws(CacheStoreError) -> Overwritten {
    var write = write
    if case .bytes(let bytes) = write.body, bytes.count > configuration.chunkBytes {
      // Checked before the first chunk makes room for itself: no row is evicted for a body that is refused
      // (law 5).
      _ = try await limits()
      guard Int64(bytes.count) <= largestBody else { throw tooLarge(Int64(bytes.count)) }
      guard try await !isTooLate(write) else { return .superseded }
      let body = try await beginBody(accountID: write.accountID, partial: nil, makingRoom: true)
      try await body.append(bytes)
      write.body = .unfinished(body)
    }
    return try await awaited { _ = submit(write, soon: soon, completion: $0) }
  }

  /// Stores a response as ``overwrite(_:soon:)`` does, and calls `completion` on the store's queue once it is committed
  /// or has failed; for callers without a task to suspend.
  ///
  /// - Returns: `false` where the body is longer than a chunk; then nothing has been done.
  package func overwrite(
    _ write: Write, soon: (@escaping @Sendable () -> Void) -> Void = { $0() },
    completion: @escaping @Sendable (Result<Overwritten, CacheStoreError>) -> Void
  ) -> Bool {
    if let onWrite = configuration.onWrite, case .bytes(let bytes) = write.body { onWrite(bytes) }
    return submit(write, soon: soon, completion: completion)
  }

  private func submit(
    _ write: Write, soon: (@escaping @Sendable () -> Void) -> Void,
    completion: @escaping @Sendable (Result<Overwritten, CacheStoreError>) -> Void
  ) -> Bool {
    var size = 0
    if case .bytes(let bytes) = write.body { size = bytes.count }
    guard size <= configuration.chunkBytes else { return false }
    writer.write(bytes: size, soon: soon) { (connection) throws(CacheStoreError) in
      try self.overwrite(write, connection)
    } completion: { result in
      if case .unfinished(let body) = write.body, case .success = result { body.end() }
      completion(result)
    }
    return true
  }

  /// Whether the response was removed, or a later exchange has written its row, by now.
  private func isTooLate(_ write: Write) async throws(CacheStoreError) -> Bool {
    if write.takesBack != nil { return false }
    return try await writer.perform { (connection) throws(CacheStoreError) in
      if try self.isRemoved(write, connection) { return true }
      if case .newer = try self.place(of: write, connection) { return true }
      return false
    }
  }

  private func isRemoved(_ write: Write, _ connection: Connection) throws(CacheStoreError) -> Bool {
    try rowWriter.hasTombstone(
      write.key.target, write.accountID, write.head.started, tags: write.marks.tags, connection)
  }

  private func overwrite(_ write: Write, _ connection: Connection) throws(CacheStoreError) -> Overwritten {
    try eviction.collectReleased(givesBack: true, connection)
    return try ofAccount(write.accountID, connection) { () throws(CacheStoreError) in
      try overwriteRow(write, connection)
    }
  }

  private func overwriteRow(_ write: Write, _ connection: Connection) throws(CacheStoreError) -> Overwritten {
    if let local = write.takesBack { return try putBack(write, for: local, connection) }
    if try isRemoved(write, connection) { return try abandon(write, connection) }
    guard case .open(let existing, let others, let variants) = try place(of: write, connection) else {
      return try abandon(write, connection)
    }
    if let onReplaced = write.onReplaced {
      if let existing, var replaced = try connection.wholeRow(existing.id), replaced.isSound {
        hold(&replaced.row.body)
        onReplaced(replaced.row)
      }
    }
    guard let body = try writeBody(write, replacing: existing, connection) else { return .superseded }
    var row = write.row(body: body)
    row.isPinned = write.marks.isPinned || existing?.isPinned == true || others.contains(where: \.isPinned)
    if let existing {
      row.id = existing.id
      if existing.isOfOtherVariant { try rowWriter.setVariant(of: row.id, write.variant, connection) }
      try connection.update(&row, write.key)
    } else {
      if variants - others.count >= Self.variantLimit { try makeRoomForVariant(write, connection) }
      try connection.insert(&row, write.key)
      let use = try connection.statement(.insertUse)
      use.bind(1, row.id)
      use.bind(2, write.head.receivedAt)
      try use.run()
    }
    for other in others { try rowWriter.absorb(other, into: row.id, connection) }
    if existing == nil { try eviction.keepWithinRowLimit(writing: row.id, connection) }
    try connection.addTags(write.marks.tags, to: row.id)
    try eviction.keepWithinLimit(writing: row.id, connection)
    return .stored(rowID: row.id, body: body)
  }

  private func putBack(
    _ write: Write, for local: LocalRow, _ connection: Connection
  ) throws(CacheStoreError) -> Overwritten {
    guard let found = try row(local, connection) else { return try abandon(write, connection) }
    let existing = RowWriter.Existing(
      id: local.id, bodyID: found.body.id, bodyBytes: found.body.length, isPinned: found.isPinned,
      isOfOtherVariant: false)
    guard let body = try writeBody(write, replacing: existing, connection) else { return .superseded }
    var row = write.row(body: body)
    (row.id, row.isPinned, row.isInvalid) = (local.id, found.isPinned, write.isInvalid || found.isInvalid)
    try connection.update(&row, write.key)
    try eviction.keepWithinLimit(writing: row.id, connection)
    return .stored(rowID: row.id, body: body)
  }

  /// Removes a row that a program has stored, while it is there.
  /// - Returns: Whether it was.
  package func takeBack(_ local: LocalRow) async throws(CacheStoreError) -> Bool {
    try await writer.change { (connection) throws(CacheStoreError) in
      guard let found = try self.row(local, connection) else { return false }
      try self.rowWriter.deleteRow(
        local.id, withBody: found.body.id, length: found.body.length, isReplaced: true, connection)
      return true
    }
  }

  /// The row that a program has stored; `nil` where another is in its place by now.
  private func row(_ local: LocalRow, _ connection: Connection) throws(CacheStoreError) -> StoredResponse? {
    guard let found = try connection.rowHead(local.id), found.isSound, found.key == local.key,
      found.row.isLocal,
      found.row.started == local.started, found.row.body.length == local.body.length
    else { return nil }
    // At one instant, of a clock that stands still, a program may store two.
    if found.row.body.id == local.body.id,
      try rowWriter.wholeChecksum(of: local.body.id, length: local.body.length, connection)
        != local.body.checksum
    {
      return nil
    }
    return found.row
  }

  private func place(of write: Write, _ connection: Connection) throws(CacheStoreError) -> RowWriter.Place {
    try rowWriter.place(
      of: write.key, accountID: write.accountID, isGood: write.isGood, variant: write.variant,
      replacing: write.replaces, started: write.head.started, connection)
  }

  /// Releases a body that came too late. It is still being delivered, so it is kept for its readers.
  private func abandon(_ write: Write, _ connection: Connection) throws(CacheStoreError) -> Overwritten {
    if case .unfinished(let body) = write.body {
      try connection.release(body: body.id, at: configuration.now())
    }
    return .superseded
  }

  // MARK: Body

  private func writeBody(
    _ write: Write, replacing existing: RowWriter.Existing?, _ connection: Connection
  ) throws(CacheStoreError) -> StoredResponse.Body? {
    switch write.body {
    case .bytes(let bytes): return try writeBytes(bytes, write, replacing: existing, connection)
    case .unfinished(let unfinished) where unfinished.chunkCount == 0:
      // No chunk arrived: an empty body is stored as one empty chunk.
      try connection.release(body: unfinished.id, at: 0)
      return try writeBytes(Data(), write, replacing: existing, connection)
    case .unfinished(let unfinished):
      let body = unfinished.whole()
      let finish = try connection.statement(.finishBody)
      finish.bind(1, body.id)
      finish.bind(2, unfinished.chunkCount == 1 ? 0 : body.checksum)
      try finish.run()
      // Either a sign-out deleted the body, or another process released it after this one lost the lock file.
      // `ofAccount` tells which.
      guard connection.changes == 1 else { throw CacheStoreError(.signedOut, "the account was signed out") }
      let partial = try connection.statement(.deletePartial)
      partial.bind(1, body.id)
      try partial.run()
      if let existing { try releaseReplaced(existing, connection) }
      return body
    case .sameAs(let body):
      guard let existing, existing.bodyID == body.id, existing.bodyBytes == body.length,
        try rowWriter.wholeChecksum(of: body.id, length: body.length, connection) == body.checksum
      else { return nil }
      return body
    }
  }

  private func writeBytes(
    _ bytes: Data, _ write: Write, replacing existing: RowWriter.Existing?, _ connection: Connection
  ) throws(CacheStoreError) -> StoredResponse.Body {
    if let existing, var body = try rewrite(existing, with: bytes, connection) {
      body.accountID = write.accountID
      return body
    }
    let id = try rowWriter.insertBody(accountID: write.accountID, checksum: 0, connection)
    let chunk = Checksum.ofChunk(bytes, body: id, number: 0)
    let statement = try connection.statement(.insertOnlyChunk)
    statement.bind(1, id)
    statement.bind(2, chunk)
    try statement.run(borrowing: bytes, at: 3)
    if let existing { try releaseReplaced(existing, connection) }
    return StoredResponse.Body(
      id: id, length: Int64(bytes.count), firstChunk: bytes,
      checksum: Checksum.ofBody(chunk: chunk), accountID: write.accountID)
  }

  /// Rewrites a body of one chunk in place: a lookup reads the whole chunk, so no reader returns to it. The row in
  /// `body` is not touched, which saves a page in the log.
  private func rewrite(
    _ existing: RowWriter.Existing, with bytes: Data, _ connection: Connection
  ) throws(CacheStoreError) -> StoredResponse.Body? {
    guard existing.bodyBytes <= configuration.chunkBytes else { return nil }
    let checksum = Checksum.ofChunk(bytes, body: existing.bodyID, number: 0)
    let statement = try connection.statement(.updateSingleChunk)
    statement.bind(1, existing.bodyID)
    statement.bind(2, existing.bodyBytes)
    statement.bind(3, checksum)
    try statement.run(borrowing: bytes, at: 4)
    guard connection.changes == 1 else { return nil }
    return StoredResponse.Body(
      id: existing.bodyID, length: Int64(bytes.count), firstChunk: bytes,
      checksum: Checksum.ofBody(chunk: checksum))
  }

  private func releaseReplaced(_ existing: RowWriter.Existing, _ connection: Connection)
    throws(CacheStoreError)
  {
    try rowWriter.releaseReplaced(body: existing.bodyID, length: existing.bodyBytes, connection)
  }

  // MARK: Row

  /// Evicts the key's variant received longest ago.
  private func makeRoomForVariant(_ write: Write, _ connection: Connection) throws(CacheStoreError) {
    let oldest = try connection.statement(.oldestVariant)
    oldest.bind(write.key, accountID: write.accountID)
    defer { oldest.reset() }
    guard try oldest.step() else {
      throw CacheStoreError(
        .full, "all \(Self.variantLimit) stored variants of this request are pinned",
        remedy: .removeThem(of: write.key.target))
    }
    try eviction.noteEvicted(connection)
    try rowWriter.deleteRow(
      oldest.integer(0), withBody: oldest.integer(1), length: oldest.integer(2), isReplaced: true, connection)
  }
}

extension ResponseStore.Write {
  /// The row to store, without an identifier yet.
  fileprivate func row(body: StoredResponse.Body) -> StoredResponse {
    StoredResponse(
      id: 0, accountID: accountID, isGood: isGood, variant: variant, vary: vary, head: head,
      changedAt: changedAt, isPinned: marks.isPinned, body: body)
  }
}
