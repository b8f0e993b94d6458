extension DataService {
  /// Why a request is answered as it is: the key, the variants, every term of freshness, the verdict under each
  /// policy, what a refresh would send, and what would change it all.
  ///
  /// It holds no secret of the request. `Encodable` gives the object that `cachefetch explain --json` prints.
  public struct Explanation: Sendable, Hashable, Encodable {
    /// What the store looks the request up by.
    public struct Key: Sendable, Hashable, Encodable {
      /// The account's name; empty for none.
      public let account: String
      /// The normalised URL, or the caller's own key.
      public let target: String
      /// The method of the rows.
      public let method: String
      /// What else tells requests apart.
      public let extra: String
    }

    /// One row under the key.
    public struct Variant: Sendable, Hashable, Encodable {
      /// The request fields it was stored for, one `name: value` a line.
      public let fields: String
      /// The names that `Vary` listed.
      public let vary: String
      /// Its status.
      public let status: Int
      /// Whether it is the last good response; other rows are for the `http` policy only.
      public let isGood: Bool
      /// Whether the request's fields match.
      public let isMatch: Bool

      enum CodingKeys: String, CodingKey {
        case fields, vary, status
        case isGood = "good"
        case isMatch = "match"
      }
    }

    /// One fact, its value, and the section that gives it meaning.
    public struct Term: Sendable, Hashable, Encodable {
      /// The name, as the section spells it.
      public let name: String
      /// The value, for a person.
      public let value: String
      /// The section, such as `RFC 9111 section 4.2.3`.
      public let section: String
    }

    /// What one policy does.
    public struct Verdict: Sendable, Hashable, Encodable {
      /// The policy as the command spells it.
      public let policy: String
      /// What it does, for a person.
      public let outcome: String
    }

    /// The key.
    public let key: Key
    /// The rows under the key.
    public let variants: [Variant]
    /// The terms of the row that matches; empty where none does.
    public let terms: [Term]
    /// What each policy does.
    public package(set) var verdicts: [Verdict]
    /// Until when the origin asked to be left alone, as an HTTP date; `nil` where it did not, or the time is over.
    public let pausedUntil: String?
    /// The fields a refresh adds to the caller's, one `name: value` each.
    public let refreshFields: [String]
    /// What would change the verdicts.
    public let changes: [String]

    enum CodingKeys: String, CodingKey {
      case key, variants, terms, verdicts, changes
      case pausedUntil = "paused_until"
      case refreshFields = "refresh_fields"
    }

    /// The explanation as lines of text, without a closing line break.
    public var text: String {
      var lines = ["key", "  target   \(key.target)", "  method   \(key.method)"]
      if !key.account.isEmpty { lines.append("  account  \(key.account)") }
      if !key.extra.isEmpty { lines.append("  extra    \(key.extra)") }
      lines.append(variants.isEmpty ? "stored\n  nothing" : "stored")
      for variant in variants {
        let name = variant.vary.isEmpty ? "any request" : variant.fields.replacing("\n", with: ", ")
        let kind = variant.isGood ? "last good response" : "for http only"
        lines.append(
          "  \(variant.isMatch ? "*" : " ") \(variant.status)  \(name.isEmpty ? "none of \(variant.vary)" : name)  (\(kind))"
        )
      }
      if !terms.isEmpty { lines.append("terms") }
      let width = terms.map(\.name.count).max() ?? 0
      for term in terms {
        let name = term.name + String(repeating: " ", count: width - term.name.count)
        lines.append("  \(name)  \(term.value)  [\(term.section)]")
      }
      lines.append("policies")
      let policyWidth = verdicts.map(\.policy.count).max() ?? 0
      for verdict in verdicts {
        let name = verdict.policy + String(repeating: " ", count: policyWidth - verdict.policy.count)
        lines.append("  \(name)  \(verdict.outcome)")
      }
      if let pausedUntil {
        lines += [
          "the origin", "  paused until \(pausedUntil): it asked to be left alone, and is not asked before",
        ]
      }
      lines.append("a refresh sends")
      lines += refreshFields.isEmpty ? ["  no condition"] : refreshFields.map { "  \($0)" }
      if !changes.isEmpty { lines.append("what would change it") }
      lines += changes.map { "  \($0)" }
      return lines.joined(separator: "\n")
    }
  }
}
