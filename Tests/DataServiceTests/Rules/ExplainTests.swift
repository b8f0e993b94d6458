import CacheStore
import DataService
import PlatformFoundation
import Testing
import TestTurns

@Suite("Explanations", .inTurn) struct ExplainTests {
  func explain(
    _ rows: [StoredResponse], _ fields: HTTPFields = [:], method: RequestMethod = .get,
    after seconds: Int64 = 10
  ) -> DataService.Explanation {
    Explain.explanation(
      of: .init(
        key: RequestKey(account: "alice", target: "http://a.test/"), method: method, fields: fields,
        url: "http://a.test/", rows: rows, now: Rule.noon + seconds * 1000),
      protect: Rule.plain)
  }

  func verdict(_ policy: String, _ explanation: DataService.Explanation) -> String {
    explanation.verdicts.first { $0.policy == policy }?.outcome ?? ""
  }

  @Test("Every policy has a verdict, with and without a row") func everyPolicy() {
    let policies = [
      "stored-then-fresh", "stored-only", "fresh-only", "fresh-else-stored", "stored-else-fresh", "http",
    ]
    #expect(explain([]).verdicts.map(\.policy) == policies)
    #expect(explain([Rule.row()]).verdicts.map(\.policy) == policies)
  }

  @Test("where nothing is stored there are verdicts, and no terms of a row") func nothing() {
    let explanation = explain([])
    #expect(explanation.terms.isEmpty && explanation.refreshFields.isEmpty && explanation.variants.isEmpty)
    #expect(verdict("stored-only", explanation) == "failure(notStored)")
    #expect(verdict("stored-then-fresh", explanation) == "fresh or failure")
    #expect(verdict("http", explanation) == "fresh or failure: nothing is stored under the key (section 4)")
    #expect(explanation.changes == ["a good response would be stored under this key"])
  }

  @Test("A fresh row: its terms, when it turns stale, and what a refresh sends") func fresh() {
    let explanation = explain([
      Rule.row(["Cache-Control": "max-age=60", "ETag": "\"a\"", "Age": "5", "Date": Rule.date(-2)])
    ])
    let terms = Dictionary(uniqueKeysWithValues: explanation.terms.map { ($0.name, $0.value) })
    #expect(terms["age_value"] == "5 s")
    #expect(terms["apparent_age"] == "2 s")
    #expect(terms["corrected_initial_age"] == "5 s")
    #expect(terms["resident_time"] == "10 s")
    #expect(terms["current_age"] == "15 s")
    #expect(terms["freshness_lifetime"] == "1 min 0 s, from max-age")
    #expect(terms["fresh for"] == "45 s")
    #expect(terms["ETag"] == "\"a\"")
    #expect(explanation.terms.allSatisfy { $0.section.hasPrefix("RFC ") })
    #expect(explanation.refreshFields == ["If-None-Match: \"a\""])
    #expect(verdict("http", explanation) == "stored: fresh (section 4.2)")
    #expect(verdict("stored-then-fresh", explanation) == "stored, 15 s old, then fresh or failure")
    #expect(explanation.changes == ["in 45 s, at \(Rule.date(55)), it is stale"])
  }

  @Test("Stored, then fresh if older: the verdict goes by when the row was received") func recent() {
    let row = Rule.row(["Age": "60"])
    func outcome(_ recent: Int64) -> String {
      var subject = Explain.Subject(
        key: RequestKey(account: "alice", target: "http://a.test/"), method: .get, fields: [:],
        url: "http://a.test/", rows: [row], now: Rule.noon + 10_000)
      subject.recent = recent
      let explanation = Explain.explanation(of: subject, protect: Rule.plain)
      return verdict("stored-then-fresh", explanation)
    }
    #expect(outcome(10_001) == "stored, 1 min 10 s old, which was received less than 10 s ago")
    #expect(outcome(10_000) == "stored, 1 min 10 s old, then fresh or failure")
  }

  @Test("A row received later than now says so", arguments: [(0, false), (3600, true)])
  func future(seconds: Int64, isTold: Bool) {
    let explanation = explain([Rule.row(receivedAt: Rule.noon + seconds * 1000)])
    #expect(explanation.terms.contains { $0.name == "from the future" } == isTold)
  }

  @Test("A stale row says for how long, and what would accept it") func stale() {
    let explanation = explain([Rule.row(["Cache-Control": "max-age=5"])])
    #expect(explanation.terms.contains { $0.name == "stale for" && $0.value == "5 s" })
    // Fresh is what lives longer than it is old.
    let border = explain([Rule.row(["Cache-Control": "max-age=10"])])
    #expect(border.terms.contains { $0.name == "stale for" })
    #expect(!border.changes.contains { $0.contains("it is stale") || $0.contains("give it a lifetime") })
    #expect(
      explain([Rule.row()]).changes.contains("max-age or Expires in the response would give it a lifetime"))
    let last = explain([Rule.row(["Cache-Control": "max-age=11"])])
    #expect(last.changes.contains("in 1 s, at \(Rule.date(11)), it is stale"))
    #expect(verdict("http", explanation) == "fresh or failure: stale (section 4.2)")
    #expect(
      explanation.changes.contains("under http, Cache-Control: max-stale=5 in the request would accept it"))
    #expect(
      explanation.changes.contains(
        "an ETag or Last-Modified in the response would make a refresh conditional"))
    let forbidden = explain([Rule.row(["Cache-Control": "max-age=5, must-revalidate"])])
    #expect(!forbidden.changes.contains { $0.contains("max-stale") })
  }

  @Test("The variants, and which of them match") func variants() {
    let rows = [
      Rule.row(id: 1, vary: "foo", variant: "foo: 1"), Rule.row(id: 2, status: 410, isGood: false),
    ]
    let explanation = explain(rows, ["Foo": "2"])
    #expect(explanation.variants.map(\.isMatch) == [false, true])
    #expect(explanation.variants.map(\.isGood) == [true, false])
    #expect(verdict("stored-only", explanation) == "failure(notStored)")
    let mismatch = explain([rows[0]], ["Foo": "2"])
    #expect(mismatch.changes == ["a request with the headers of a stored variant would match it"])
  }

  @Test("A pass-through request says so under every policy but http") func passThrough() {
    let explanation = explain(
      [Rule.row(["Cache-Control": "max-age=60", "ETag": "\"a\""])], ["Range": "bytes=0-1"])
    for policy in [
      "stored-then-fresh", "stored-only", "fresh-only", "fresh-else-stored", "stored-else-fresh",
    ] {
      #expect(
        verdict(policy, explanation)
          == (policy == "stored-only" ? "failure(notStored)" : "fresh or failure")
            + ": the request bypasses the store",
        "\(policy)")
    }
    #expect(verdict("http", explanation) == "stored: fresh (section 4.2)")
    #expect(explanation.refreshFields.isEmpty)
  }

  @Test("Directives of both sides are terms") func directives() {
    let explanation = explain(
      [
        Rule.row(
          [
            "Cache-Control":
              "max-age=60, no-cache=\"x\", must-revalidate, immutable, stale-while-revalidate=60, stale-if-error=90"
          ], isInvalid: true)
      ], ["Cache-Control": "max-age=5, no-cache"])
    let names = explanation.terms.map(\.name)
    for name in [
      "invalid", "no-cache", "must-revalidate", "immutable", "stale-while-revalidate", "stale-if-error",
      "request max-age", "request no-cache",
    ] {
      #expect(names.contains(name), Comment(rawValue: name))
    }
    #expect(explain([Rule.row()], ["Pragma": "no-cache"]).terms.contains { $0.name == "request Pragma" })
  }

  @Test("The text has every part, and no line ends in a line break too many") func text() {
    let text = explain(
      [Rule.row(["Cache-Control": "max-age=60", "ETag": "\"a\""], vary: "foo", variant: "foo: 1")],
      ["Foo": "1"]
    ).text
    for part in [
      "http://a.test/", "alice", "* 200  foo: 1", "freshness_lifetime", "stored-then-fresh",
      "If-None-Match: \"a\"", "what would change it",
    ] {
      #expect(text.contains(part), Comment(rawValue: part))
    }
    #expect(!text.hasSuffix("\n"))
    #expect(!text.contains("nothing") && explain([]).text.contains("\nstored\n  nothing\n"))
  }

  @Test("It is one JSON object with the documented names") func json() throws {
    let encoder = JSONEncoder()
    let data = try encoder.encode(explain([Rule.row(["ETag": "\"a\""])]))
    guard case .object(let members) = JSONValue(data) else {
      Issue.record("not an object")
      return
    }
    #expect(Set(members.keys) == ["key", "variants", "terms", "verdicts", "refresh_fields", "changes"])
  }

  @Test(
    "Times are for a person, in at most two units",
    arguments: [
      (0, "0 ms"), (999, "999 ms"), (1000, "1 s"), (59_999, "59 s"), (60_000, "1 min 0 s"),
      (3_599_000, "59 min 59 s"),
      (3_600_000, "1 h 0 min"), (86_400_000, "1 d 0 h"), (-1500, "-1 s"), (.min, "-106751991167 d 7 h"),
    ] as [(Int64, String)])
  func durations(milliseconds: Int64, expected: String) {
    #expect(Explain.duration(milliseconds) == expected)
  }
}
