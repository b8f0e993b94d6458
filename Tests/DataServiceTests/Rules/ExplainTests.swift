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
    #expect(verdict("stored-only", explanation) == "failure: nothing is stored")
    #expect(verdict("stored-then-fresh", explanation) == "fresh or failure")
    #expect(verdict("http", explanation) == "fresh or failure: nothing is stored under the key (section 4)")
    #expect(explanation.changes == ["a good response would be stored under this key"])
  }

  @Test("A fresh row says its terms, when it turns stale, and what a refresh sends") func fresh() {
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

  @Test("What is stored in its content coding is stored to http alone, and to who decodes nothing")
  func coded() {
    let row = Rule.row(["Content-Encoding": "gzip", "Content-Length": "4", "Cache-Control": "max-age=60"])
    #expect(verdict("stored-only", explain([row])) == "failure: nothing is stored")
    #expect(verdict("http", explain([row])) == "stored: fresh (section 4.2)")
    var subject = Explain.Subject(
      key: RequestKey(account: "alice", target: "http://a.test/"), method: .get, fields: [:],
      url: "http://a.test/", rows: [row], now: Rule.noon + 10_000)
    subject.decodesContent = false
    let undecoded = Explain.explanation(of: subject, protect: Rule.plain)
    #expect(verdict("stored-only", undecoded) == "stored, 10 s old")
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
    let otherwise = "if no answer comes, stored, then failure"
    #expect(verdict("http", explanation) == "fresh or failure; \(otherwise): stale (section 4.2)")
    #expect(
      explanation.changes.contains("under http, Cache-Control: max-stale=5 in the request would accept it"))
    #expect(
      explanation.changes.contains(
        "an ETag or Last-Modified in the response would make a refresh conditional"))
    let forbidden = explain([Rule.row(["Cache-Control": "max-age=5, must-revalidate"])])
    #expect(!forbidden.changes.contains { $0.contains("max-stale") })
  }

  @Test("Each variant says whether it matches") func variants() {
    let rows = [
      Rule.row(id: 1, vary: "foo", variant: "foo: 1"), Rule.row(id: 2, status: 410, isGood: false),
    ]
    let explanation = explain(rows, ["Foo": "2"])
    #expect(explanation.variants.map(\.isMatch) == [false, true])
    #expect(explanation.variants.map(\.isGood) == [true, false])
    #expect(verdict("stored-only", explanation) == "failure: nothing is stored")
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
          == (policy == "stored-only" ? "failure" : "fresh or failure")
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

  @Test func `for how long a stale answer will do is what the response says`() {
    let control = "max-age=5, stale-while-revalidate=1000, stale-if-error=2000"
    let terms = explain([Rule.row(["Cache-Control": control])]).terms
    for (name, value) in [
      ("stale-while-revalidate", "16 min 40 s"), ("stale-if-error", "33 min 20 s"),
    ] {
      let term = terms.first { $0.name == name }
      #expect(term?.value == value, "\(name)")
    }
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

  @Test func `the text has a line for each fact`() {
    let rows = [
      Rule.row(
        id: 1, ["Cache-Control": "max-age=60", "ETag": "\"a\""], vary: "foo,x", variant: "foo: 1\nx: 2"),
      Rule.row(id: 2, status: 410, vary: "bar", isGood: false),
      Rule.row(id: 3, vary: "foo", variant: "foo: 9"), Rule.row(id: 4, status: 404, isGood: false),
    ]
    let key = RequestKey(account: "alice", target: "http://a.test/", extra: "insecure")
    let subject = Explain.Subject(
      key: key, method: .get, fields: ["Foo": "1", "X": "2"], url: "http://a.test/", rows: rows,
      now: Rule.noon + 10_000)
    var explanation = Explain.explanation(of: subject, protect: Rule.plain)
    explanation.isShared = true
    #expect(
      explanation.text == """
        key
          target   http://a.test/
          method   GET
          account  alice
          extra    insecure
        stored
          * 200  foo: 1, x: 2  (last good response)
          * 410  none of bar  (for http only)
            200  foo: 9  (last good response)
          * 404  any request  (for http only)
        terms
          date_value             Sun, 06 Nov 1994 08:49:37 GMT  [RFC 9111 section 4.2.3]
          response_time          Sun, 06 Nov 1994 08:49:37 GMT  [RFC 9111 section 4.2.3]
          age_value              0 ms  [RFC 9111 section 4.2.3]
          apparent_age           0 ms  [RFC 9111 section 4.2.3]
          response_delay         0 ms  [RFC 9111 section 4.2.3]
          corrected_initial_age  0 ms  [RFC 9111 section 4.2.3]
          resident_time          10 s  [RFC 9111 section 4.2.3]
          current_age            10 s  [RFC 9111 section 4.2.3]
          freshness_lifetime     1 min 0 s, from max-age  [RFC 9111 section 4.2.1]
          fresh for              50 s  [RFC 9111 section 4.2]
          ETag                   "a"  [RFC 9111 section 4.3.1]
        policies
          stored-then-fresh  stored, 10 s old, then fresh or failure
          stored-only        stored, 10 s old
          fresh-only         fresh or failure
          fresh-else-stored  fresh if in time; else stored, 10 s old, then failure
          stored-else-fresh  stored, 10 s old, where that is young enough; \
        else fresh; else stored, then failure
          http               stored: fresh (section 4.2)
        the fleet
          shared: other machines have it from the tier
        a refresh sends
          If-None-Match: "a"
        what would change it
          in 50 s, at Sun, 06 Nov 1994 08:50:37 GMT, it is stale
          other values of these request headers would not match: foo,x
        """)
  }

  @Test func `the text of what has nothing stored and asks for nothing of it`() {
    var subject = Explain.Subject(
      key: RequestKey(target: "http://a.test/", method: "POST"), method: .post, fields: [:],
      url: "http://a.test/", rows: [], now: Rule.noon)
    subject.pausedUntil = Rule.noon + 60_000
    var explanation = Explain.explanation(of: subject, protect: Rule.plain)
    explanation.isShared = false
    explanation.unsharedReason = "its account is not shared"
    #expect(
      explanation.text == """
        key
          target   http://a.test/
          method   POST
        stored
          nothing
        policies
          stored-then-fresh  fresh or failure: the request bypasses the store
          stored-only        failure: the request bypasses the store
          fresh-only         fresh or failure: the request bypasses the store
          fresh-else-stored  fresh or failure: the request bypasses the store
          stored-else-fresh  fresh or failure: the request bypasses the store
          http               fresh or failure: method is not one that is stored (section 3)
        the origin
          paused until Sun, 06 Nov 1994 08:50:37 GMT: it asked to be left alone, and is not asked before
        the fleet
          not shared: its account is not shared
        a refresh sends
          no condition
        """)
  }

  @Test func `a lifetime says where it comes from, and whether that can be read`() {
    for (fields, value, section) in [
      (["Last-Modified": Rule.date(-1000)], "1 min 40 s, a tenth of the time since Last-Modified", "4.2.2"),
      (["Expires": Rule.date(60)], "1 min 0 s, from Expires less Date", "4.2.1"),
      (
        ["Expires": "0"], "0 ms, from Expires less Date, which contradicts itself or cannot be read", "4.2.1"
      ),
      ([:], "0 ms, nothing gives one", "4.2.1"),
    ] as [(HTTPFields, String, String)] {
      let term = explain([Rule.row(fields)]).terms.first { $0.name == "freshness_lifetime" }
      #expect(term?.value == value && term?.section == "RFC 9111 section \(section)", "\(value)")
    }
  }

  @Test func `the staleness that would have to be accepted is in whole seconds, rounded up`() {
    func asked(_ receivedAt: Int64, after seconds: Int64) -> [String] {
      let row = Rule.row(["Cache-Control": "max-age=5", "ETag": "\"a\""], receivedAt: receivedAt)
      return explain([row], after: seconds).changes
    }
    for (receivedAt, seconds, staleness) in [
      (Rule.noon, 2_005, 2_000), (Rule.noon - 1, 2_005, 2_001), (Rule.noon, 5, 0), (Rule.noon - 1, 5, 1),
    ] as [(Int64, Int64, Int64)] {
      #expect(
        asked(receivedAt, after: seconds)
          == ["under http, Cache-Control: max-stale=\(staleness) in the request would accept it"],
        "\(receivedAt - Rule.noon) ms, \(seconds) s")
    }
    #expect(
      explain([Rule.row(["Cache-Control": "max-age=5", "ETag": "\"a\""])], ["Cache-Control": "max-stale"])
        .changes.isEmpty)
  }

  @Test func `what a redirect, an import or the program itself has brought is said to be that`() {
    var row = Rule.row(["Cache-Control": "max-age=5, must-revalidate", "ETag": "\"a\""])
    row.head.url = "http://b.test/"
    #expect(
      explain([row]).changes
        == ["asking for the URL that answered would find it fresh or stale by its age"])
    row.head.url = nil
    #expect(explain([row]).changes.isEmpty)
    row.head.started = .imported
    #expect(
      explain([row]).changes == ["it was imported: the next refresh is unconditional, and replaces it"])
    row = Rule.row(["Cache-Control": "max-age=5, must-revalidate"])
    row.head.version = StoredResponse.localVersion
    #expect(
      explain([row]).changes
        == ["a program has stored it: the next refresh is unconditional, and replaces it"])
  }

  @Test func `what is young enough, and what comes in time, goes by what the caller gives`() {
    var subject = Explain.Subject(
      key: RequestKey(target: "http://a.test/"), method: .get, fields: [:], url: "http://a.test/",
      rows: [Rule.row()], now: Rule.noon + 10_000)
    subject.deadline = 2_000
    for (maxAge, outcome) in [
      (10_000, "stored, 10 s old, which is not older than 10 s"),
      (9_999, "fresh, since the stored one is older than 9 s; else stored, then failure"),
    ] as [(Int64, String)] {
      subject.maxAge = maxAge
      let explanation = Explain.explanation(of: subject, protect: Rule.plain)
      #expect(verdict("stored-else-fresh", explanation) == outcome, "\(maxAge)")
      #expect(
        verdict("fresh-else-stored", explanation)
          == "fresh if within 2 s; else stored, 10 s old, then failure", "\(maxAge)")
    }
    subject.rows = [Rule.row(isInvalid: true)]
    #expect(
      verdict("stored-else-fresh", Explain.explanation(of: subject, protect: Rule.plain))
        == "fresh; else stored, then failure (the entry is invalid or from the future)")
  }

  @Test("what would be shown is said without a symbol, and goes by what is stored and by a pause")
  func shown() {
    var subject = Explain.Subject(
      key: RequestKey(target: "http://a.test/"), method: .get, fields: [:], url: "http://a.test/",
      rows: [], now: Rule.noon + 10_000)
    subject.maxAge = 9_000
    func shown() -> [String: String] {
      let verdicts = Explain.explanation(of: subject, protect: Rule.plain).verdicts
      return Dictionary(uniqueKeysWithValues: verdicts.map { ($0.policy, $0.shown) })
    }
    #expect(shown()["stored-then-fresh"] == "the server's answer, since nothing is stored for this request")
    #expect(shown()["stored-only"] == "nothing, since nothing is stored for this request")
    subject.rows = [Rule.row(["Cache-Control": "max-age=60"])]
    let response = "the response stored 10 s ago"
    #expect(
      shown() == [
        "stored-then-fresh": "\(response), then the server's answer if it differs",
        "stored-only": "\(response); the server is not asked",
        "fresh-only": "the server's answer or nothing, and not \(response)",
        "fresh-else-stored": "the server's answer, or \(response) if there is none",
        "stored-else-fresh": "the server's answer, or \(response) if there is none: that is more than 9 s",
        "http": "\(response), since its lifetime or the request allows it",
      ])
    subject.maxAge = 10_000
    #expect(shown()["stored-else-fresh"] == "\(response), since that is not more than 10 s")
    subject.pausedUntil = Rule.noon + 60_000
    let pause = ", since the server has asked not to be asked before Sun, 06 Nov 1994 08:50:37 GMT"
    #expect(shown()["stored-then-fresh"] == response + pause && shown()["fresh-only"] == "nothing" + pause)
    #expect(shown()["stored-only"] == "\(response); the server is not asked")
    for text in shown().values { #expect(!text.contains("RFC") && !text.contains("failure"), "\(text)") }
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
