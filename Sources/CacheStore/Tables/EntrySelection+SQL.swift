extension EntrySelection {
  /// The SELECT of these columns for the selected rows; `r` is the row, `a` its account.
  ///
  /// - Parameter rows: Where the rows come from: a table, or a SELECT in parentheses that has the columns it is
  ///   selected by.
  ///
  /// Only the conditions that are set appear in the text: a form such as `(?1 IS NULL OR …)` would keep SQLite from
  /// using an index.
  func text(_ columns: String, of rows: String = "last_request") -> String {
    // The index of rows begins with the account: without statistics SQLite would read all of it for a target.
    let isByTarget = tag == nil && rowIDs == nil && (targets != nil || prefix != nil)
    var tables =
      isByTarget
      ? "account a CROSS JOIN \(rows) r ON r.account_id = a.id"
      : "\(rows) r JOIN account a ON a.id = r.account_id"
    var conditions: [String] = []
    if let accounts {
      conditions.append("a.name IN (\(Self.parameters("a", accounts.count)))")
    }
    if key != nil {
      conditions.append(
        "a.name = :keyAccount AND r.target = :keyTarget AND r.method = :keyMethod AND r.extra = :keyExtra")
    }
    if prefix != nil { conditions.append("r.target >= :prefix AND r.target < :prefixEnd") }
    if host != nil {
      let otherPorts =
        " OR r.target >= :httpPort AND r.target < :httpPortEnd OR r.target >= :httpsPort AND r.target < :httpsPortEnd"
      conditions.append(
        """
        (r.target >= :http AND r.target < :httpEnd OR r.target >= :https AND r.target < :httpsEnd
         OR r.target = :httpBare OR r.target = :httpsBare\(isAnyPort ? otherPorts : ""))
        """)
    }
    if tag != nil { tables += " JOIN tag t ON t.request_id = r.id AND t.name = :tag" }
    if let rowIDs { conditions.append("r.id IN (\(Self.parameters("i", rowIDs.count)))") }
    if let targets { conditions.append("r.target IN (\(Self.parameters("u", targets.count)))") }
    if receivedBeforeMilliseconds != nil { conditions.append("r.received_at_ms < :receivedBefore") }
    if minimumBytes != nil { conditions.append("r.body_bytes >= :minimumBytes") }
    if isPinned != nil { conditions.append("r.pinned = :pinned") }
    if isGood != nil { conditions.append("r.good = :good") }
    let all = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
    return "SELECT \(columns) FROM \(tables)\(all)"
  }

  /// Binds the values of ``text(_:)``.
  func bind(to statement: Statement) {
    for (index, name) in (accounts ?? []).enumerated() { statement.bind(":a\(index)", name) }
    for (index, id) in (rowIDs ?? []).enumerated() { statement.bind(":i\(index)", id) }
    for (index, target) in (targets ?? []).enumerated() { statement.bind(":u\(index)", target) }
    if let key {
      statement.bind(":keyAccount", key.account)
      statement.bind(":keyTarget", key.target)
      statement.bind(":keyMethod", key.method)
      statement.bind(":keyExtra", key.extra)
    }
    if let prefix {
      statement.bind(":prefix", prefix)
      statement.bind(":prefixEnd", Self.end(of: prefix))
    }
    if let host {
      for scheme in ["http", "https"] {
        statement.bind(":\(scheme)", "\(scheme)://\(host)/")
        statement.bind(":\(scheme)End", Self.end(of: "\(scheme)://\(host)/"))
        statement.bind(":\(scheme)Bare", "\(scheme)://\(host)")
        guard isAnyPort else { continue }
        statement.bind(":\(scheme)Port", "\(scheme)://\(host):")
        statement.bind(":\(scheme)PortEnd", Self.end(of: "\(scheme)://\(host):"))
      }
    }
    if let tag { statement.bind(":tag", tag) }
    if let receivedBeforeMilliseconds { statement.bind(":receivedBefore", receivedBeforeMilliseconds) }
    if let minimumBytes { statement.bind(":minimumBytes", minimumBytes) }
    if let isPinned { statement.bind(":pinned", isPinned ? 1 : 0) }
    if let isGood { statement.bind(":good", isGood ? 1 : 0) }
  }

  private static func parameters(_ letter: String, _ count: Int) -> String {
    (0..<count).map { ":\(letter)\($0)" }.joined(separator: ", ")
  }

  /// An upper bound for every text that begins with `prefix`: U+10FFFF is the last Unicode scalar.
  private static func end(of prefix: String) -> String { prefix + "\u{10FFFF}" }
}
