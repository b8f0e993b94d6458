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
    // Taken out for the while: each access to a stored property is checked for another under way.
    var bytes: [UInt8] = []
    swap(&bytes, &buffer)
    defer { swap(&bytes, &buffer) }
    bytes.removeAll(keepingCapacity: true)
    bytes.add(key.account)
    bytes.add(row.accountID)
    bytes.add(key.target)
    bytes.add(key.method)
    bytes.add(key.extra)
    bytes.add(row.isGood ? 1 : 0)
    bytes.add(row.variant)
    bytes.add(row.vary)
    bytes.add(row.started.boot)
    bytes.add(row.started.nanoseconds)
    bytes.add(row.responseURL == nil ? 0 : 1)
    bytes.add(row.responseURL ?? "")
    bytes.add(row.httpVersion)
    bytes.add(Int64(row.status))
    bytes.add(row.reason)
    bytes.add(Int64(row.fields.wire.count))
    bytes.append(contentsOf: row.fields.wire)
    bytes.add(row.requestedAt)
    bytes.add(row.receivedAt)
    bytes.add(row.changedAt)
    bytes.add(row.exchangeMilliseconds)
    bytes.add(row.isInvalid ? 1 : 0)
    bytes.add(row.body.id)
    bytes.add(row.body.length)
    bytes.add(bodyChecksum)
    return bytes.withUnsafeBytes { Self.hash($0, seed: 0) }
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

extension [UInt8] {
  fileprivate mutating func add(_ value: Int64) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }

  fileprivate mutating func add(_ text: String) {
    add(Int64(text.utf8.count))
    var text = text
    // A view of the text would be gone through byte by byte.
    text.withUTF8 { append(contentsOf: $0) }
  }
}
