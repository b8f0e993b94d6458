internal import CXXHash
internal import PlatformFoundation

/// The checksums of chunks, bodies and rows; all are XXH3-64.
enum Checksum {
  /// The checksum of a chunk, seeded with its body and number: a chunk in another place does not match.
  static func ofChunk(_ bytes: UnsafeRawBufferPointer, body: Int64, number: Int) -> Int64 {
    hash(bytes, seed: UInt64(bitPattern: body) << 24 ^ UInt64(number))
  }

  /// The checksum of a chunk, seeded with its body and number: a chunk in another place does not match.
  static func ofChunk(_ bytes: Data, body: Int64, number: Int) -> Int64 {
    bytes.withUnsafeBytes { ofChunk($0, body: body, number: number) }
  }

  /// The checksum of a body: the hash of its chunks' checksums, in order.
  static func ofBody(chunks checksums: [Int64]) -> Int64 {
    // Every supported machine is little-endian.
    checksums.withUnsafeBytes { hash($0, seed: 0) }
  }

  /// The checksum of a body of one chunk.
  static func ofBody(chunk checksum: Int64) -> Int64 {
    withUnsafeBytes(of: checksum.littleEndian) { hash($0, seed: 0) }
  }

  /// The hash that stands for a target, or for many, in the table of removals; never 0.
  static func ofTarget(_ target: String) -> Int64 {
    var target = target
    let hash = target.withUTF8 { Self.hash(UnsafeRawBufferPointer($0), seed: 0) }
    return hash == 0 ? 1 : hash
  }

  static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> Int64 {
    Int64(bitPattern: cachefetch_xxh3(bytes.baseAddress, bytes.count, seed))
  }
}
