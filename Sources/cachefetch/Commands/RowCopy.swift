internal import CacheStore
internal import PlatformFoundation

/// Copies rows from one store into another for `export` and `import`, and checks every byte.
struct RowCopy: Sendable {
  let source: ResponseStore
  let target: ResponseStore

  /// Reads every byte of the rows, so that nothing is copied from a partly damaged file.
  func verify(_ entries: [StoredEntry]) async throws(CacheStoreError) {
    for entry in entries {
      guard entry.isSound else { throw Self.damaged(entry) }
      try await forEachChunk(of: entry) { _ in }
    }
  }

  /// Stores a row in the target with the start of its own exchange. If the row is overwritten before its body
  /// has been read, the newer row is copied; `false` if the target refused it.
  func copyNewest(_ entry: StoredEntry) async throws(CacheStoreError) -> Bool {
    var entry = entry
    for _ in 1..<Self.attempts {
      do throws(CacheStoreError) {
        return try await copy(entry, started: entry.response.started)
      } catch {
        guard error.reason == .replaced, let newer = try await replacement(of: entry) else { throw error }
        entry = newer
      }
    }
    return try await copy(entry, started: entry.response.started)
  }

  /// The number of attempts to copy a row that is overwritten again and again.
  private static let attempts = 8

  /// The row that has taken an entry's place in the source; `nil` if none has.
  private func replacement(of entry: StoredEntry) async throws(CacheStoreError) -> StoredEntry? {
    var selection = EntrySelection.all
    selection.key = entry.key
    return try await source.entries(selection).first {
      $0.response.isGood == entry.response.isGood && $0.response.variant == entry.response.variant
        && $0.response.body != entry.response.body
    }
  }

  /// Stores a row in the target as an exchange begun at `started` would; `false` if the target refused it.
  ///
  /// - Throws: `replaced` where the row was overwritten since it was listed and its body is gone.
  func copy(_ entry: StoredEntry, started: StartMark) async throws(CacheStoreError) -> Bool {
    // The row does not match its checksum. A copy would get a new checksum over wrong values.
    guard entry.isSound else { throw Self.damaged(entry) }
    let row = entry.response
    let account = try await target.accountID(named: entry.key.account)
    var write = ResponseStore.Write(
      accountID: account, key: entry.key, head: row.head, body: try await body(of: entry, account: account))
    write.head.started = started
    write.isGood = row.isGood
    write.variant = row.variant
    write.vary = row.vary
    write.changedAt = row.changedAt
    write.marks = RowMarks(isPinned: row.isPinned, tags: entry.tags)
    return try await target.overwrite(write) != .superseded
  }

  /// Whether the target has a response to the same request that is as new or newer.
  func hasAsNew(as entry: StoredEntry) async throws(CacheStoreError) -> Bool {
    let own = try await target.lookup(entry.key).rows
    let same = own.first { $0.isGood == entry.response.isGood && $0.variant == entry.response.variant }
    return same.map { $0.receivedAt >= entry.response.receivedAt } ?? false
  }

  /// The body for the target: whole if it is short, in chunks if it is long.
  private func body(of entry: StoredEntry, account: Int64) async throws(CacheStoreError)
    -> ResponseStore.Write.Body
  {
    if entry.response.body.length <= 64 << 10 {
      var bytes = Data()
      try await forEachChunk(of: entry) { chunk in bytes.append(chunk) }
      return .bytes(bytes)
    }
    let unfinished = try await target.beginBody(accountID: account)
    do throws(CacheStoreError) {
      try await forEachChunk(of: entry) { (chunk) async throws(CacheStoreError) in
        try await unfinished.append(chunk)
      }
    } catch {
      unfinished.remove()
      unfinished.end()
      throw error
    }
    return .unfinished(unfinished)
  }

  /// The smallest size, in bytes, of a chunk that is not its body's last, in a store of any configuration.
  private static let leastChunk = 1 << 10

  private static func damaged(_ entry: StoredEntry) -> CacheStoreError {
    CacheStoreError(
      .corrupt, "the stored response of \(entry.key.target) is damaged", hint: "fetch it again")
  }

  private func forEachChunk(
    of entry: StoredEntry, _ take: (Data) async throws(CacheStoreError) -> Void
  ) async throws(CacheStoreError) {
    let body = entry.response.body
    var (number, length) = (0, Int64(0))
    while length < body.length {
      let chunk =
        try await number == 0
        ? source.firstChunk(of: body) : source.chunk(number, of: body.id, accountID: body.accountID)
      // Every chunk but the last has a minimum size. A file with many empty chunks is an attempt to keep the reader
      // busy.
      guard chunk.count >= Self.leastChunk || length + Int64(chunk.count) == body.length else {
        throw Self.damaged(entry)
      }
      try await take(chunk)
      number += 1
      length += Int64(chunk.count)
    }
  }
}
