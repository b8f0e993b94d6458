import CacheStore
import PlatformFoundation
import Testing
import TestTurns

@testable import DataService

@Suite("Answers", .inTurn) struct AnswerTests {
  static let stored: StoredResponse = {
    var row = Rule.row(status: 203, ["ETag": "\"a\"", "Age": "9", "X": "old"], body: "stored")
    row.head.version = "2"
    row.head.reason = "Kept"
    row.head.requestedAt = Rule.noon - 7
    row.head.url = "http://b.test/"
    return row
  }()

  @Test("A body is at hand where its first chunk is all of it") func body() {
    var body = Self.stored.body
    guard case .data(let data) = DeliveredBody(body) else {
      Issue.record("not at hand")
      return
    }
    #expect(data == Data("stored".utf8) && DeliveredBody(body).length == 6)
    for length in [5, 7] as [Int64] {
      body.length = length
      guard case .stored(let kept) = DeliveredBody(body) else {
        Issue.record("at hand")
        return
      }
      #expect(kept == body && DeliveredBody(body).length == length)
    }
  }

  @Test("A row that another exchange wrote is an answer with all that it has") func row() {
    let row = Self.stored
    let answer = Answer(row: row, url: "http://a.test/x", comparedWith: nil)
    #expect(answer.version == "2" && answer.status == 203 && answer.reason == "Kept")
    #expect(answer.fields == row.fields && answer.interim.isEmpty && answer.redirects == 0)
    #expect(answer.url == "http://a.test/x" && answer.responder.isEmpty)
    #expect(answer.requestedAt == Rule.noon - 7 && answer.receivedAt == Rule.noon)
    #expect(!answer.wasValidated && answer.kept == .yes && answer.isGood)
    #expect(answer.comparison == nil && answer.retryAfter == nil && answer.body.length == 6)
  }

  @Test("The bytes are the same where neither the change nor the length is another") func comparison() {
    let row = Self.stored
    for (name, isSame, change) in [
      ("nothing", true, { _ in }), ("changed", false, { $0.changedAt -= 1 }),
      ("another length", false, { $0.body.length += 1 }), ("another body", true, { $0.body.id = 9 }),
      ("received", true, { $0.head.receivedAt -= 1 }),
    ] as [(String, Bool, (inout StoredResponse) -> Void)] {
      var previous = row
      change(&previous)
      let answer = Answer(row: row, url: "", comparedWith: previous)
      #expect(answer.comparison?.isSame == isSame, Comment(rawValue: name))
      #expect(answer.comparison?.body == previous.body, Comment(rawValue: name))
    }
  }

  @Test("A 304 has the stored status and body and the merged fields, RFC 9111 section 4.3.4")
  func validating() {
    var head = Rule.answer(
      ["X": "new", "X-Secret": "s", "Set-Cookie": "c"], status: 304, body: .data(Data()))
    head.version = "3"
    head.kept = .no(.noStore)
    let answer = head.validating(Self.stored, secretNames: ["x-secret"])
    #expect(answer.status == 203 && answer.reason == "Kept" && answer.version == "3")
    #expect(answer.fields == ["ETag": "\"a\"", "X": "new", "Date": Rule.date()])
    #expect(answer.wasValidated && answer.body.length == 6 && answer.kept == .no(.noStore))
    #expect(answer.comparison?.body == Self.stored.body && answer.comparison?.isSame == true)
    var delivered = answer
    delivered.addCookies(of: head)
    #expect(delivered.fields.values(of: "Set-Cookie") == ["c"])
    #expect(delivered.fields.all.count == 4)
  }
}

@Suite("Heads of deliveries", .inTurn) struct HeadRuleTests {
  @Test("Of a stored row") func stored() throws {
    let row = AnswerTests.stored
    let prepared = try Rule.prepared { $0.account = .named("me") }
    let head = HeadRule.head(of: row, prepared: prepared, now: Rule.noon + 1000, elapsed: .seconds(2))
    #expect(head.version == "2" && head.status == 203 && head.reason == "Kept" && head.fields == row.fields)
    #expect(head.interim.isEmpty && head.redirects == 0 && head.url == "http://b.test/")
    #expect(head.requestURL.absoluteString == "http://a.test/x" && head.account == "me")
    #expect(head.receivedAtMilliseconds == Rule.noon && head.freshness.isStored && !head.wasValidated)
    #expect(head.age == .milliseconds(9 * 1000 + 7 + 1000))
    #expect(head.kept == .yes && head.elapsed == .seconds(2) && head.bodyLength == 6)
    #expect(head.forward == nil && head.staleReference == nil)
    var direct = row
    direct.head.url = nil
    #expect(
      HeadRule.head(of: direct, prepared: prepared, now: Rule.noon, elapsed: .zero).url == "http://a.test/x")
  }

  @Test("Of an exchange's answer") func answer() throws {
    var answer = Rule.answer(["Age": "3"], status: 404)
    answer.version = "1.0"
    answer.reason = "Gone Fishing"
    answer.interim = [.init(status: 103, fields: ["Link": "x"])]
    answer.redirects = 2
    answer.url = "http://c.test/"
    answer.requestedAt = Rule.noon - 5
    answer.receivedAt = Rule.noon - 2
    answer.kept = .no(.busy)
    let reference = FreshnessInputs(stored: Rule.row(), now: Rule.noon)
    func head(validated: Bool) throws -> DataService.ResponseHead {
      answer.wasValidated = validated
      return HeadRule.head(
        of: answer, prepared: try Rule.prepared { $0.account = .named("me") }, now: Rule.noon,
        elapsed: .seconds(3),
        forward: .bypass, staleReference: reference)
    }
    let fresh = try head(validated: false)
    #expect(fresh.version == "1.0" && fresh.status == 404 && fresh.reason == "Gone Fishing")
    #expect(fresh.fields == ["Age": "3"] && fresh.interim == answer.interim && fresh.redirects == 2)
    #expect(fresh.url == "http://c.test/" && fresh.requestURL.absoluteString == "http://a.test/x")
    #expect(fresh.account == "me" && fresh.receivedAtMilliseconds == Rule.noon - 2)
    #expect(fresh.age == .milliseconds(3000 + 3 + 2) && !fresh.freshness.isStored)
    #expect(fresh.kept == .no(.busy) && fresh.elapsed == .seconds(3) && fresh.bodyLength == 4)
    #expect(fresh.forward == .bypass && fresh.staleReference?.isStored == true)
    #expect(!fresh.wasValidated)
    #expect(try head(validated: true).wasValidated)
  }

  @Test("Cache-Status says why there was an exchange, RFC 9211 section 2.2") func cacheStatus() throws {
    let stale = FreshnessInputs(stored: Rule.row(), now: Rule.noon)
    let fresh = FreshnessInputs(stored: Rule.row(["Cache-Control": "max-age=60"]), now: Rule.noon)
    let cases:
      [(
        name: String, forward: CacheStatus.Forward?, reference: FreshnessInputs?, validated: Bool,
        status: String
      )] = [
        ("named", .method, stale, false, "fwd=method; fwd-status=200; stored"),
        ("stale", nil, stale, false, "fwd=stale; fwd-status=200; stored"),
        ("fresh", nil, fresh, false, "fwd=request; fwd-status=200; stored"),
        ("nothing known", nil, nil, false, "fwd=uri-miss; fwd-status=200; stored"),
        ("validated", nil, nil, true, "fwd=stale; fwd-status=304; stored"),
      ]
    for (name, forward, reference, validated, status) in cases {
      let head = HeadRule.head(
        of: Rule.answer(wasValidated: validated), prepared: try Rule.prepared(), now: Rule.noon,
        elapsed: .zero,
        forward: forward, staleReference: reference)
      #expect(head.cacheStatus == "cachefetch; " + status, Comment(rawValue: name))
    }
    var answer = Rule.answer()
    answer.kept = .no(.full)
    let unkept = HeadRule.head(
      of: answer, prepared: try Rule.prepared(), now: Rule.noon, elapsed: .zero, forward: nil,
      staleReference: nil)
    #expect(unkept.cacheStatus == "cachefetch; fwd=uri-miss; fwd-status=200")
    let hit = HeadRule.head(
      of: Rule.row(["Cache-Control": "max-age=60"]), prepared: try Rule.prepared(), now: Rule.noon + 61_000,
      elapsed: .zero)
    #expect(hit.cacheStatus == "cachefetch; hit; ttl=-1")
  }
}

@Suite("What freshness is worked out from", .inTurn) struct FreshnessInputsTests {
  static let cases:
    [(name: String, fields: HTTPFields, after: Int64, age: Int64, isStale: Bool, secondsLeft: Int64)] = [
      ("young", ["Cache-Control": "max-age=60"], 59_999, 59_999, false, 0),
      ("at its end", ["Cache-Control": "max-age=60"], 60_000, 60_000, true, 0),
      ("past it", ["Cache-Control": "max-age=60"], 61_000, 61_000, true, -1),
      ("just received", ["Cache-Control": "max-age=60"], 0, 0, false, 60),
      ("no lifetime", [:], 0, 0, true, 0),
      ("a minute ahead", ["Cache-Control": "max-age=60"], -60_000, 0, false, 60),
      ("from the future", ["Cache-Control": "max-age=60", "Age": "5"], -60_001, 0, true, 60),
    ]

  @Test("Stale once the lifetime is over, RFC 9111 section 4.2") func table() {
    for (name, fields, after, age, isStale, secondsLeft) in Self.cases {
      let inputs = FreshnessInputs(stored: Rule.row(fields), now: Rule.noon + after)
      #expect(inputs.age == age, Comment(rawValue: name))
      #expect(inputs.isStale == isStale, Comment(rawValue: name))
      #expect(inputs.secondsLeft == secondsLeft, Comment(rawValue: name))
      #expect(inputs.isStored, Comment(rawValue: name))
    }
  }

  @Test("What is invalid is stale; what is not stored is from no future") func kinds() {
    let fields: HTTPFields = ["Cache-Control": "max-age=60"]
    #expect(FreshnessInputs(stored: Rule.row(fields, isInvalid: true), now: Rule.noon).isStale)
    let answer = FreshnessInputs(
      status: 200, fields: fields, requestedAt: Rule.noon, receivedAt: Rule.noon, now: Rule.noon - 60_001,
      isStored: false)
    #expect(!answer.isStale && !answer.isInvalid && !answer.isStored)
  }
}
