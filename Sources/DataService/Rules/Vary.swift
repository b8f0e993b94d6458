package import CacheStore

/// Which of a key's rows a request may have: the fields that `Vary` names have to match (RFC 9111 section 4.1).
///
/// Only the caller's own request fields are looked at. What the transport adds (`User-Agent`, `Accept-Encoding`,
/// `Host`, `Connection` …) is the same for every caller of one release and does not count.
package enum Vary {
  /// What stands for a field's value in the `variant` column: the value itself, or a keyed digest of a secret one.
  package typealias Protection = (_ name: String, _ value: String) -> String

  /// The names in `Vary` as the `vary` column has them: lower case, sorted, once each, by comma; `*` where a member
  /// is `*`, or is no field name, so that nothing could ever be matched.
  package static func names(in fields: HTTPFields) -> String {
    guard fields.contains("Vary") else { return "" }
    let members = Set(fields.values(of: "Vary").flatMap(FieldList.members).map(FieldList.lowercased))
    guard members.allSatisfy({ $0 != "*" && FieldList.isToken($0) }) else { return "*" }
    return members.sorted().joined(separator: ",")
  }

  /// The request fields that `names` (the `vary` column) lists, as the `variant` column has them: one `name: value`
  /// a line. A field that is absent has no line, so that it matches only where it is absent again.
  package static func variant(names: String, requestFields: HTTPFields, protect: Protection) -> String {
    guard !names.isEmpty, names != "*" else { return "" }
    return names.split(separator: ",").compactMap { name -> String? in
      let name = String(name)
      let values = requestFields.values(of: name)
      return values.isEmpty ? nil : "\(name): \(protect(name, normalised(name: name, values: values)))"
    }.joined(separator: "\n")
  }

  /// Whether the request's fields match those the row was stored for; never where its `Vary` was `*`.
  package static func matches(_ row: StoredResponse, requestFields: HTTPFields, protect: Protection) -> Bool {
    row.vary != "*"
      && FieldList.isSame(
        variant(names: row.vary, requestFields: requestFields, protect: protect), row.variant)
  }

  /// The row for the request, or `nil`: of several that match the most recent by `Date`, then by receipt.
  package static func select(
    from rows: [StoredResponse], requestFields: HTTPFields, protect: Protection,
    where isWanted: (StoredResponse) -> Bool = { _ in true }
  ) -> StoredResponse? {
    var best: StoredResponse?
    for row in rows where isWanted(row) && matches(row, requestFields: requestFields, protect: protect) {
      // Nearly always one matches: to read its date takes as long as half a look-up.
      if let best, !isNewer(row, than: best) { continue }
      best = row
    }
    return best
  }

  private static func isNewer(_ row: StoredResponse, than other: StoredResponse) -> Bool {
    let dates = [row, other].map { Freshness.dateValue(fields: $0.fields, receivedAt: $0.receivedAt) }
    return (dates[0], row.receivedAt) > (dates[1], other.receivedAt)
  }

  /// Field lines joined, white space around list members evened out, and letters made small where the field's own
  /// definition compares them so. The order is kept: origins do use it to break ties.
  private static func normalised(name: String, values: [String]) -> String {
    let joined = values.flatMap(FieldList.members).joined(separator: ", ")
    guard ["accept-language", "accept-encoding", "accept-charset"].contains(name) else { return joined }
    return String(
      decoding: joined.utf8.filter { $0 != Ascii.space && $0 != Ascii.tab }.map(\.asciiLowercased),
      as: UTF8.self)
  }
}
