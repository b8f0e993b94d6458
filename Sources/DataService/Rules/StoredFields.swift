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
