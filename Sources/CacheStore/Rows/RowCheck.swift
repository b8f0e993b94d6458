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
    let read = try connection.withStatement(Query.wholeRowText) {
      (statement) throws(CacheStoreError) -> (wasThere: Bool, row: StoredResponse?) in
      statement.bind(1, id)
      guard try statement.step() else { return (false, nil) }
      return (true, try RowReading.read(statement, key: RowReading.key(statement)))
    }
    // Removed since it was listed, perhaps.
    guard read.wasThere else { return true }
    guard let body = read.row?.body else { return false }
    var checksums: [Int64] = []
    var length: Int64 = 0
    repeat {
      let chunk = try ChunkReading.read(checksums.count, of: body.id, keepingBytes: false, connection)
      guard let chunk, let checksum = chunk.checksum else { return false }
      checksums.append(checksum)
      length += Int64(chunk.length)
    } while length < body.length
    return length == body.length && RowHasher.bodyChecksum(ofChunks: checksums) == body.checksum
  }
}
