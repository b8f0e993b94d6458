package import CacheStore

/// Which fields of a received response are stored (RFC 9111 section 3.1, law 12).
package enum StoredFields {
  /// Fields that are never stored, whatever the response says: those of the connection or the proxy, whether or not
  /// `Connection` names them, and cookies.
  private static let neverStored: FieldNames = [
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    "proxy-authenticate", "proxy-authentication-info", "proxy-authorization", "set-cookie", "set-cookie2",
  ]

  /// The fields without the hop-by-hop ones, those that `Connection` names, `Set-Cookie`, and the secret ones.
  ///
  /// - Parameters:
  ///   - received: The fields as received.
  ///   - secretNames: Names of fields that are never written anywhere.
  ///   - receivedAt: Where given, and the response has no `Date`, one is added (RFC 9110 section 6.6.1).
  package static func storable(
    _ received: HTTPFields, secretNames: FieldNames = [], receivedAt: Int64? = nil
  ) -> HTTPFields {
    var fields = received
    for name in received.values(of: "Connection").flatMap(FieldList.members) { fields.remove(name) }
    fields.removeAll(in: neverStored, or: secretNames)
    if let receivedAt, !fields.contains("Date") { fields.append("Date", HTTPDate.format(receivedAt)) }
    return fields
  }
}
