package import CacheStore

/// Which fields of a received response are stored (RFC 9111 section 3.1, design law 12).
package enum StoredFields {
  /// Fields that speak of the connection or the proxy, in lower case, whether or not `Connection` names them.
  package static let hopByHop: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
  ]

  /// The fields without the hop-by-hop ones, those that `Connection` names, `Set-Cookie`, and the secret ones.
  ///
  /// - Parameters:
  ///   - received: The fields as received.
  ///   - secretNames: Names of fields that are never written anywhere, in lower case.
  ///   - receivedAt: Where given, and the response has no `Date`, one is added (RFC 9110 section 6.6.1).
  package static func storable(
    _ received: HTTPFields, secretNames: Set<String> = [], receivedAt: Int64? = nil
  ) -> HTTPFields {
    let named = received.values(of: "Connection").flatMap(FieldList.members).map(FieldList.lowercased)
    let dropped = hopByHop.union(named).union(["set-cookie", "set-cookie2"]).union(secretNames)
    var fields = received
    fields.removeAll { dropped.contains(FieldList.lowercased($0)) }
    if let receivedAt, !fields.contains("Date") { fields.append("Date", HTTPDate.format(receivedAt)) }
    return fields
  }
}
