internal import CacheStore
internal import DataService

/// A response's head as `-i` prints it, like curl: lines that end in CR LF, the last one empty.
enum HeadText {
  /// The head; a stored one carries `Age` and `Cache-Status`.
  static func bytes(_ head: DataService.ResponseHead, isStored: Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    for interim in head.interim {
      bytes += statusLine(head.version, interim.status, "") + interim.fields.wire + [0x0D, 0x0A]
    }
    let fields = fields(head, isStored: isStored)
    return bytes + statusLine(head.version, head.status, head.reason) + fields.wire + [0x0D, 0x0A]
  }

  /// The fields as received; for a stored response with its current `Age` and with `Cache-Status` (RFC 9211).
  static func fields(_ head: DataService.ResponseHead, isStored: Bool) -> HTTPFields {
    var fields = head.fields
    guard isStored else { return fields }
    fields["Age"] = String(head.age.components.seconds)
    fields.append("Cache-Status", head.cacheStatus)
    return fields
  }

  /// The response a cache generates if `only-if-cached` finds nothing (RFC 9111 section 5.2.1.7).
  static let gatewayTimeout = Array(
    "HTTP/1.1 504 Gateway Timeout\r\nCache-Status: cachefetch; fwd=miss\r\n\r\n".utf8)

  private static func statusLine(_ version: String, _ status: Int, _ reason: String) -> [UInt8] {
    Array("HTTP/\(version) \(status) \(reason)\r\n".utf8)
  }
}
