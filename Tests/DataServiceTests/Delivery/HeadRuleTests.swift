import CacheStore
import PlatformFoundation
import Testing
import TestTurns

@testable import DataService

@Suite("Heads of deliveries", .inTurn) struct HeadRuleTests {
  @Test("A stored row gives its head, with the age that it has now") func stored() throws {
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

  @Test("An exchange's answer gives its head, with the reason for the exchange") func answer() throws {
    var answer = Rule.answer(["Age": "3"], status: 404)
    answer.head.version = "1.0"
    answer.head.reason = "Gone Fishing"
    answer.interim = [.init(status: 103, fields: ["Link": "x"])]
    answer.redirects = 2
    answer.head.url = "http://c.test/"
    answer.head.requestedAt = Rule.noon - 5
    answer.head.receivedAt = Rule.noon - 2
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
