internal import FoundationEssentials

/// One chunk as it stands in the file, and whether it is what was written.
struct ChunkReading: Sendable {
  /// `nil` where it does not match the bytes.
  let checksum: Int64?
  let length: Int
  /// The bytes, where they were asked for.
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
    let checksum = RowHasher.chunkChecksum(bytes, body: body, number: number)
    return ChunkReading(
      checksum: checksum == statement.integer(0) ? checksum : nil, length: bytes.count,
      bytes: keepingBytes ? statement.data(1) : Data())
  }
}
