/// Verifies all there is, for `doctor`.
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
    // Removed since it was listed, perhaps.
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
