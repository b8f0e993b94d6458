internal import CXXHash
internal import FoundationEssentials

/// The checksums of rows, chunks and bodies; all are XXH3-64.
///
/// A row's columns are laid out one after another, each with its length, in a buffer that is used again for the next
/// row: one pass over contiguous bytes costs a tenth of what a streaming hash does for so little.
final class RowHasher {
  private var buffer: [UInt8] = []

  /// The checksum of a row: all that is delivered of it, whose it is, and its body's checksum.
  ///
  /// The account's name is in it beside the identifier, so that not even a damaged index can lead from one account's
  /// name to another's row.
  func checksum(of row: StoredResponse, key: RequestKey, bodyChecksum: Int64) -> Int64 {
    buffer.removeAll(keepingCapacity: true)
    append(key.account)
    append(row.accountID)
    append(key.target)
    append(key.method)
    append(key.extra)
    append(row.isGood ? 1 : 0)
    append(row.variant)
    append(row.vary)
    append(row.started.boot)
    append(row.started.nanoseconds)
    append(row.responseURL == nil ? 0 : 1)
    append(row.responseURL ?? "")
    append(row.httpVersion)
    append(Int64(row.status))
    append(row.reason)
    append(Int64(row.fields.wire.count))
    buffer.append(contentsOf: row.fields.wire)
    append(row.requestedAt)
    append(row.receivedAt)
    append(row.changedAt)
    append(row.exchangeMilliseconds)
    append(row.isInvalid ? 1 : 0)
    append(row.body.id)
    append(row.body.length)
    append(bodyChecksum)
    return buffer.withUnsafeBytes { Self.hash($0, seed: 0) }
  }

  /// The checksum of a chunk; one that turns up in another place or body does not match.
  static func chunkChecksum(_ bytes: UnsafeRawBufferPointer, body: Int64, number: Int) -> Int64 {
    hash(bytes, seed: UInt64(bitPattern: body) << 24 ^ UInt64(number))
  }

  /// The checksum of a body: that of its chunks' checksums, in order.
  static func bodyChecksum(ofChunks checksums: [Int64]) -> Int64 {
    // Little-endian on every machine this is built for; the file is not carried between machines of two kinds.
    checksums.withUnsafeBytes { hash($0, seed: 0) }
  }

  /// The checksum of a body of one chunk.
  static func bodyChecksum(ofChunk checksum: Int64) -> Int64 {
    withUnsafeBytes(of: checksum.littleEndian) { hash($0, seed: 0) }
  }

  /// The hash that stands for a target in the table of removals; never 0.
  static func targetHash(_ target: String) -> Int64 {
    var target = target
    let hash = target.withUTF8 { Self.hash(UnsafeRawBufferPointer($0), seed: 0) }
    return hash == 0 ? 1 : hash
  }

  static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> Int64 {
    Int64(bitPattern: cachefetch_xxh3(bytes.baseAddress, bytes.count, seed))
  }

  private func append(_ value: Int64) {
    withUnsafeBytes(of: value.littleEndian) { buffer.append(contentsOf: $0) }
  }

  private func append(_ text: String) {
    append(Int64(text.utf8.count))
    buffer.append(contentsOf: text.utf8)
  }
}
