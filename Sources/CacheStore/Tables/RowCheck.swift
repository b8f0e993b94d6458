internal import PlatformFoundation

/// Verifies every row and every chunk, for the check of a store.
enum RowCheck {
  /// The rows whose own checksum, or that of any chunk of their body, does not match.
  static func damagedRows(_ connection: Connection) throws(CacheStoreError) -> [Int64] {
    let ids = try connection.withStatement("SELECT id FROM last_request") {
      (statement) throws(CacheStoreError) in
      var ids: [Int64] = []
      while try statement.step() { ids.append(statement.integer(0)) }
      return ids
    }
    var damaged: [Int64] = []
    for id in ids where try !isSound(id, connection) { damaged.append(id) }
    return damaged
  }

  private static func isSound(_ id: Int64, _ connection: Connection) throws(CacheStoreError) -> Bool {
    // Another process may have removed the row since it was listed.
    guard let found = try connection.wholeRow(id) else { return true }
    guard found.isSound else { return false }
    let body = found.row.body
    var checksums: [Int64] = []
    var length: Int64 = 0
    repeat {
      let chunk = try ChunkReading.read(checksums.count, of: body.id, keepingBytes: false, connection)
      guard let chunk, let checksum = chunk.checksum else { return false }
      checksums.append(checksum)
      length += Int64(chunk.length)
    } while length < body.length
    return length == body.length && Checksum.ofBody(chunks: checksums) == body.checksum
  }
}

/// One chunk as read from the file, and whether its checksum matches.
struct ChunkReading: Sendable {
  /// The stored checksum; `nil` where it does not match the bytes.
  let checksum: Int64?
  let length: Int
  /// The bytes, where `keepingBytes` was set.
  let bytes: Data

  /// - Returns: `nil` where there is no such chunk.
  static func read(
    _ number: Int, of body: Int64, keepingBytes: Bool, _ connection: Connection
  ) throws(CacheStoreError) -> ChunkReading? {
    let statement = try connection.statement(.chunk)
    defer { statement.reset() }
    statement.bind(1, body)
    statement.bind(2, number)
    guard try statement.step() else { return nil }
    let bytes = statement.bytes(1)
    let checksum = Checksum.ofChunk(bytes, body: body, number: number)
    return ChunkReading(
      checksum: checksum == statement.integer(0) ? checksum : nil, length: bytes.count,
      bytes: keepingBytes ? statement.data(1) : Data())
  }
}

extension Connection {
  /// The checksum in a body's row: over its chunks' checksums, or 0 where there is one chunk; `nil` while the body is
  /// unfinished.
  func bodyChecksum(of body: Int64) throws(CacheStoreError) -> Int64? {
    let statement = try statement(.bodyChecksum)
    defer { statement.reset() }
    statement.bind(1, body)
    return try statement.step() && !statement.isNull(0) ? statement.integer(0) : nil
  }
}
