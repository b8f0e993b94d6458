package import CacheStore

/// Selects the row for a request: the fields that `Vary` names must match (RFC 9111 section 4.1).
///
/// Only the caller's own request fields count. The fields that the transport adds (`User-Agent`, `Accept-Encoding`,
/// `Host`, `Connection` …) are the same for all callers of one release.
package enum Vary {
  /// Maps a field's value to its text in the `variant` column: the value itself, or a keyed digest of a secret value.
  package typealias Protection = (_ name: String, _ value: String) -> String

  /// The names in `Vary` in the format of the `vary` column: lower case, sorted, unique, separated by commas. `*` if
  /// a member is `*` or not a field name, since no request can then match.
  package static func names(in fields: HTTPFields) -> String {
    guard fields.contains("Vary") else { return "" }
    let members = Set(fields.values(of: "Vary").flatMap(FieldList.members).map(FieldList.lowercased))
    guard members.allSatisfy({ $0 != "*" && FieldList.isToken($0) }) else { return "*" }
    return members.sorted().joined(separator: ",")
  }

  /// The request fields that `names` (the `vary` column) lists, in the format of the `variant` column: one
  /// `name: value` per line. An absent field has no line and so matches only its absence.
  package static func variant(names: String, requestFields: HTTPFields, protect: Protection) -> String {
    guard !names.isEmpty, names != "*" else { return "" }
    return names.split(separator: ",").compactMap { name -> String? in
      let name = String(name)
      let values = requestFields.exact.values(of: name)
      return values.isEmpty ? nil : "\(name): \(protect(name, normalised(name: name, values: values)))"
    }.joined(separator: "\n")
  }

  /// Whether the request's fields match those that the row was stored for; never if its `Vary` was `*`.
  package static func matches(
    _ row: StoredResponse, requestFields: HTTPFields, protect: Protection,
    besides credentials: SecretList? = nil
  ) -> Bool {
    matches(
      row.variant, of: row.vary, requestFields: requestFields, protect: protect, besides: credentials)
  }

  /// Whether the request's fields match a variant, given with the names it is of.
  ///
  /// - Parameter credentials: The fields that match whatever their value, and where they are missing.
  static func matches(
    _ stored: String, of names: String, requestFields: HTTPFields, protect: Protection,
    besides credentials: SecretList?
  ) -> Bool {
    if names.isEmpty { return stored.isEmpty }
    guard names != "*" else { return false }
    guard let credentials else {
      return FieldList.isSame(variant(names: names, requestFields: requestFields, protect: protect), stored)
    }
    let counted = names.split(separator: ",").filter { !credentials.isSecretField(String($0)) }
    let lines = stored.split(separator: "\n").filter { counted.contains($0.prefix { $0 != ":" }) }
    return FieldList.isSame(
      variant(names: counted.joined(separator: ","), requestFields: requestFields, protect: protect),
      lines.joined(separator: "\n"))
  }

  /// The matching row, or `nil`. Of several, the one received last: a `Date` is only what a response says of itself.
  package static func select(
    from rows: [StoredResponse], requestFields: HTTPFields, protect: Protection,
    besides credentials: SecretList? = nil, where isWanted: (StoredResponse) -> Bool = { _ in true }
  ) -> StoredResponse? {
    var best: StoredResponse?
    for row in rows
    where isWanted(row)
      && matches(row, requestFields: requestFields, protect: protect, besides: credentials)
    {
      if let best, row.receivedAt <= best.receivedAt { continue }
      best = row
    }
    return best
  }

  /// Joins the field lines, normalises white space between list members, and lowercases fields whose definition
  /// ignores case. The order stays, since origins use it to break ties.
  private static func normalised(name: String, values: [String]) -> String {
    let joined = values.flatMap(FieldList.members).joined(separator: ", ")
    guard ["accept-language", "accept-encoding", "accept-charset"].contains(name) else { return joined }
    return String(
      decoding: joined.utf8.filter { $0 != Ascii.space && $0 != Ascii.tab }.map(\.asciiLowercased),
      as: UTF8.self)
  }
}
