internal import CXXHash
internal import FoundationEssentials

/// The checksums of rows, chunks and bodies; all are XXH3-64.
///
/// A row's columns are laid out one after another, each with its length, in a buffer that is used again for the next
/// row: one pass over contiguous bytes costs a tenth of what a streaming hash does for so little.
final class RowHasher {
  private var layout = ByteLayout()

  /// The checksum of a row: all that is delivered of it, whose it is, and its body's checksum.
  ///
  /// The account's name is in it beside the identifier, so that not even a damaged index can lead from one account's
  /// name to another's row.
  func checksum(of row: StoredResponse, key: RequestKey, bodyChecksum: Int64) -> Int64 {
    layout.fill(with: row, key: key, bodyChecksum: bodyChecksum)
    return Self.hash(layout.bytes, seed: 0)
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
}

extension ByteLayout {
  fileprivate mutating func fill(with row: StoredResponse, key: RequestKey, bodyChecksum: Int64) {
    removeAll()
    add(key.account)
    add(row.accountID)
    add(key.target)
    add(key.method)
    add(key.extra)
    add(row.isGood ? 1 : 0)
    add(row.variant)
    add(row.vary)
    add(row.started.boot)
    add(row.started.nanoseconds)
    add(row.responseURL == nil ? 0 : 1)
    add(row.responseURL ?? "")
    add(row.httpVersion)
    add(Int64(row.status))
    add(row.reason)
    row.fields.wire.withUnsafeBytes { add($0) }
    add(row.requestedAt)
    add(row.receivedAt)
    add(row.changedAt)
    add(row.exchangeMilliseconds)
    add(row.isInvalid ? 1 : 0)
    add(row.body.id)
    add(row.body.length)
    add(bodyChecksum)
  }
}
