package import CacheStore

/// Selects the fields of a received response that are stored (RFC 9111 section 3.1, law 12).
package enum StoredFields {
  /// Fields that are never stored, whatever the response says: connection and proxy fields, whether or not
  /// `Connection` names them, and cookies.
  private static let neverStored: FieldNames = [
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    "proxy-authenticate", "proxy-authentication-info", "proxy-authorization", "set-cookie", "set-cookie2",
  ]

  /// The received fields without the hop-by-hop fields, those that `Connection` names, `Set-Cookie`, and secret
  /// fields.
  ///
  /// - Parameters:
  ///   - received: The fields as received.
  ///   - secretNames: Names of fields that must never be written.
  ///   - receivedAt: The time for a `Date` field, which is added if the response has none (RFC 9110 section 6.6.1);
  ///     `nil` adds none.
  package static func storable(
    _ received: HTTPFields, secretNames: FieldNames = [], receivedAt: Int64? = nil
  ) -> HTTPFields {
    var fields = received
    // All at once: there can be as many names as a head has room for.
    let named = received.values(of: "Connection").flatMap(FieldList.members)
    if !named.isEmpty { fields.removeAll(in: FieldNames(named)) }
    // RFC 9112 section 6.3: it is not the body's length.
    if received.contains("Transfer-Encoding") { fields.remove("Content-Length") }
    fields.removeAll(in: neverStored, or: secretNames)
    if let receivedAt, !fields.contains("Date") { fields.append("Date", HTTPDate.format(receivedAt)) }
    return fields
  }
}

/// The codings of bodies (RFC 9110 section 8.4). Stored fields keep the origin's `Content-Encoding`, and the head says
/// whether the body was decoded. Whether a load decodes is not part of the key: loads of both kinds then share the row
/// of an uncoded body.
enum ContentCoding {
  /// The names in IANA's HTTP Content Coding Registry.
  private static let registered: Set = [
    "aes128gcm", "br", "compress", "dcb", "dcz", "deflate", "exi", "gzip", "pack200-gzip", "x-compress",
    "x-gzip", "zstd",
  ]

  /// Whether the body beside that head is coded, so that it is nothing to a load that wants it decoded.
  static func isCoded(_ head: ReceivedHead) -> Bool { !head.isDecoded && isNamed(in: head.fields) }

  /// Whether the fields name a coding. A list with a name that is registered nowhere is none: nobody can undo it.
  static func isNamed(in fields: HTTPFields) -> Bool {
    guard fields.contains("Content-Encoding") else { return false }
    let names = fields.values(of: "Content-Encoding").flatMap(FieldList.members).map(FieldList.lowercased)
    let codings = names.filter { $0 != "identity" && $0 != "none" }
    return !codings.isEmpty && codings.allSatisfy(registered.contains)
  }
}
