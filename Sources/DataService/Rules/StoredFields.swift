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
    fields.removeAll(in: neverStored, or: secretNames)
    if let receivedAt, !fields.contains("Date") { fields.append("Date", HTTPDate.format(receivedAt)) }
    return fields
  }
}

/// Tells stored bodies that are coded from those that were decoded (RFC 9110 section 8.4). Both keep the origin's
/// `Content-Encoding`; the length that stands beside it is that of the coded bytes. Whether a load decodes is not part
/// of the key: loads of both kinds then share the row of an uncoded body.
enum ContentCoding {
  /// Whether the stored bytes are coded, so that they are nothing to a load that wants them decoded.
  static func isCoded(_ row: StoredResponse) -> Bool { isCoded(row.fields, length: row.body.length) }

  /// Whether a body of that length is coded, by the fields that are stored beside it.
  static func isCoded(_ fields: HTTPFields, length: Int64) -> Bool {
    guard names(fields) else { return false }
    return fields["Content-Length"].flatMap { Int64($0) } == length
  }

  /// Whether the stored bytes were decoded, though the fields beside them still name their coding.
  static func isDecoded(_ row: StoredResponse) -> Bool { names(row.fields) && !isCoded(row) }

  /// The fields of a response whose body stays as it came: with its length, where the origin did not say it.
  static func undecoded(_ fields: HTTPFields, length: Int64) -> HTTPFields {
    guard names(fields), !fields.contains("Content-Length") else { return fields }
    var fields = fields
    fields.append("Content-Length", "\(length)")
    return fields
  }

  /// Whether the fields name a coding.
  private static func names(_ fields: HTTPFields) -> Bool {
    guard let coding = fields["Content-Encoding"] else { return false }
    return !coding.isEmpty && coding.lowercased() != "identity"
  }
}
