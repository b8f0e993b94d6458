internal import CacheStore
internal import DataService

/// The result of `export` or `import`: how many responses were copied, and how many were left out and why.
struct BundleCount {
  /// Why responses were left out.
  enum Reason: String, CaseIterable {
    /// They belong to requests with credentials.
    case credentials
    /// They belong to an account that was not named.
    case account
    /// They are found by digests that only the store they are in can make.
    case digest
    /// The stored response is as new or newer.
    case older
    /// They cannot be read whole.
    case damaged
    /// The store's limit has no room for them beside the others.
    case limit
  }

  /// Responses exported or imported.
  var rows = 0
  private(set) var leftOut: [Reason: Int] = [:]
  /// How many responses each account has that was not named.
  private(set) var accounts: [String: Int] = [:]

  /// Whether nothing of what was asked for was there, not even what the store has already.
  var hasNothing: Bool { rows == 0 && leftOut[.older] == nil }

  /// A response that was copied has gone again.
  mutating func takeBack(_ reason: Reason) {
    rows -= 1
    leaveOut(reason)
  }

  mutating func leaveOut(_ reason: Reason) { leftOut[reason, default: 0] += 1 }

  /// Returns the entries of the wanted account that another store can find, and counts the others as left out.
  mutating func wanted(_ entries: [StoredEntry], of account: String?) -> [StoredEntry] {
    entries.filter { entry in
      let name = entry.key.account
      if name == account ?? "" {
        guard KeyedParts.areIn(entry.key, variant: entry.response.variant) else { return true }
        leaveOut(.digest)
        return false
      }
      // With `--account`, entries of other accounts are not counted as left out.
      guard account == nil else { return false }
      if name.hasPrefix("auto:") {
        leaveOut(.credentials)
      } else {
        leaveOut(.account)
        accounts[name, default: 0] += 1
      }
      return false
    }
  }

  /// `exported 4 stored responses; left out: 2 of requests with credentials, 1 of the account alice (--account NAME)`.
  func text(_ verb: String) -> String { "\(verb) \(Counted.text(rows, "stored response"))\(leftOutText)\n" }

  /// `; left out: 1 no newer than what is stored`, or nothing.
  var leftOutText: String {
    var parts: [String] = []
    if let count = leftOut[.credentials] { parts.append("\(count) of requests with credentials") }
    if let count = leftOut[.account] {
      let names = accounts.keys.sorted().map { TerminalText.visible($0) }
      let shown = names.prefix(3).joined(separator: ", ") + (names.count > 3 ? ", …" : "")
      parts.append("\(count) of the account\(names.count == 1 ? "" : "s") \(shown)")
    }
    if let count = leftOut[.digest] {
      let reason = count == 1 ? "its key has a digest" : "their keys have a digest"
      parts.append("\(count) that no other store finds (\(reason) of a secret or a body)")
    }
    if let count = leftOut[.older] { parts.append("\(count) no newer than what is stored") }
    if let count = leftOut[.damaged] { parts.append("\(count) that cannot be read whole") }
    if let count = leftOut[.limit] { parts.append("\(count) that the store's limit has no room for") }
    var text = parts.isEmpty ? "" : "; left out: " + parts.joined(separator: ", ")
    if leftOut[.credentials] != nil || leftOut[.account] != nil {
      text += " (--account NAME takes those of one account)"
    }
    return text
  }

  /// The JSON object (`docs/bundles.schema.json`).
  func line(_ verb: Verb, file: String) -> [UInt8] {
    var json = JSONWriter()
    json.member("verb", verb.rawValue)
    json.member("file", file)
    json.member("responses", rows)
    var objects: [[UInt8]] = []
    for reason in Reason.allCases where reason != .account {
      if let count = leftOut[reason] { objects.append(Self.object(reason, count)) }
    }
    for (account, count) in accounts.sorted(by: { $0.key < $1.key }) {
      objects.append(Self.object(.account, count, account: account))
    }
    json.member("left_out", objects: objects)
    return json.line()
  }

  private static func object(_ reason: Reason, _ count: Int, account: String? = nil) -> [UInt8] {
    var json = JSONWriter()
    json.member("reason", reason.rawValue)
    if let account { json.member("account", account) }
    json.member("responses", count)
    return json.object()
  }
}
