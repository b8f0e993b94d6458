extension DataService {
  /// Why the service answers a request as it does: the key, the variants, every term of freshness, each policy's
  /// verdict, the fields a refresh would send, and what would change the verdicts.
  ///
  /// It contains no secret of the request. Encoding it gives a JSON object with all of it.
  package struct Explanation: Sendable, Hashable, Encodable {
    /// The key of the request in the store.
    package struct Key: Sendable, Hashable, Encodable {
      /// The account's name; empty for none.
      package let account: String
      /// The normalised URL, or the caller's own key.
      package let target: String
      /// The method of the rows.
      package let method: String
      /// Further parts that distinguish requests, such as a body's digest or a proxy.
      package let extra: String
    }

    /// One row under the key.
    package struct Variant: Sendable, Hashable, Encodable {
      /// The request fields that the row was stored for, one `name: value` per line.
      package let fields: String
      /// The names that `Vary` listed.
      package let vary: String
      /// The status of the stored response.
      package let status: Int
      /// Whether it is the last good response; other rows are for the `http` policy only.
      package let isGood: Bool
      /// Whether the request's fields match.
      package let isMatch: Bool

      enum CodingKeys: String, CodingKey {
        case fields, vary, status
        case isGood = "good"
        case isMatch = "match"
      }
    }

    /// One fact, its value, and the section that defines it.
    package struct Term: Sendable, Hashable, Encodable {
      /// The name, spelled as in the section.
      package let name: String
      /// The value, as text for people.
      package let value: String
      /// The section, such as `RFC 9111 section 4.2.3`.
      package let section: String
    }

    /// The outcome under one policy.
    package struct PolicyVerdict: Sendable, Hashable, Encodable {
      /// The name of the policy, such as `stored-then-fresh`.
      package var policy: String
      /// The outcome, as text for people.
      package let outcome: String
      /// What a program would show, and why, without the terms of the RFC: the rest of a sentence.
      package var shown = ""

      enum CodingKeys: String, CodingKey { case policy, outcome }
    }

    /// The key.
    package let key: Key
    /// The rows under the key.
    package let variants: [Variant]
    /// The terms of the matching row; empty if no row matches.
    package let terms: [Term]
    /// The outcome under each policy.
    package var verdicts: [PolicyVerdict]
    /// When the pause that the origin asked for ends, as an HTTP date; `nil` without a pause, or after its end.
    package let pausedUntil: String?
    /// The fields that a refresh adds to the caller's, one `name: value` each.
    package let refreshFields: [String]
    /// What would change the verdicts.
    package let changes: [String]
    /// Whether the answer is shared with the fleet; `nil` without one.
    package var isShared: Bool?
    /// Why it is not.
    package var unsharedReason: String?

    enum CodingKeys: String, CodingKey {
      case key, variants, terms, verdicts, changes
      case isShared = "shared"
      case unsharedReason = "shared_reason"
      case pausedUntil = "paused_until"
      case refreshFields = "refresh_fields"
    }

    /// The explanation as lines of text, without a final line break.
    package var text: String {
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
      if let isShared {
        lines += ["the fleet", "  \(DataService.Shared.text(isShared: isShared, unsharedReason))"]
      }
      lines.append("a refresh sends")
      lines += refreshFields.isEmpty ? ["  no condition"] : refreshFields.map { "  \($0)" }
      if !changes.isEmpty { lines.append("what would change it") }
      lines += changes.map { "  \($0)" }
      return lines.joined(separator: "\n")
    }
  }
}
