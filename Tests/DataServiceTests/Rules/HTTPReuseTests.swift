import CacheStore
import DataService
import Testing
import TestTurns

@Suite("Reuse under http, RFC 9111 sections 4 and 5.2", .inTurn) struct HTTPReuseTests {
  typealias Reason = HTTPReuse.Reason
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var response: HTTPFields
    var request: HTTPFields = [:]
    /// Seconds since receipt.
    var after: Int64 = 10
    var action: HTTPReuse.Action
    var reason: Reason
    var isInvalid = false
    var testDescription: String { name }
  }

  static func with(_ control: String, tag: Bool = true) -> HTTPFields {
    tag ? ["Cache-Control": control, "ETag": "\"a\""] : ["Cache-Control": control]
  }

  static func asking(_ control: String) -> HTTPFields { ["Cache-Control": control] }

  static let cases: [Case] = [
    // 4.2: freshness decides.
    .init(name: "fresh", response: with("max-age=60"), action: .reuse, reason: .fresh),
    .init(name: "stale", response: with("max-age=60"), after: 60, action: .validate, reason: .stale),
    .init(
      name: "stale without validator", response: with("max-age=60", tag: false), after: 60, action: .fetch,
      reason: .stale),
    .init(name: "no lifetime", response: [:], after: 0, action: .fetch, reason: .stale),
    .init(
      name: "heuristically fresh", response: ["Last-Modified": Rule.date(-1000)], after: 99, action: .reuse,
      reason: .fresh),
    .init(
      name: "heuristically stale", response: ["Last-Modified": Rule.date(-1000)], after: 100,
      action: .validate, reason: .stale),
    .init(name: "Expires ahead", response: ["Expires": Rule.date(60)], action: .reuse, reason: .fresh),
    .init(
      name: "aged on arrival", response: ["Cache-Control": "max-age=60", "Age": "55"], action: .fetch,
      reason: .stale),
    .init(
      name: "s-maxage ignored", response: ["Cache-Control": "max-age=60, s-maxage=0"], action: .reuse,
      reason: .fresh),
    .init(name: "private", response: with("private, max-age=60"), action: .reuse, reason: .fresh),
    .init(
      name: "must-revalidate while fresh", response: with("max-age=60, must-revalidate"), action: .reuse,
      reason: .fresh),
    .init(
      name: "from the future", response: with("max-age=600"), after: -61, action: .validate,
      reason: .fromFuture),
    // 5.2.2.4: no-cache on the response.
    .init(
      name: "response no-cache", response: with("max-age=60, no-cache"), action: .validate,
      reason: .responseNoCache),
    .init(
      name: "response no-cache without validator", response: with("max-age=60, no-cache", tag: false),
      action: .fetch, reason: .responseNoCache),
    .init(
      name: "response no-cache for a field", response: with("max-age=60, no-cache=\"X\""), action: .reuse,
      reason: .fresh),
    // 4.4: invalidated.
    .init(
      name: "invalidated", response: with("max-age=60"), action: .validate, reason: .invalidated,
      isInvalid: true),
    .init(
      name: "invalidated, with max-stale", response: with("max-age=60"), request: asking("max-stale"),
      action: .validate, reason: .invalidated, isInvalid: true),
    // 5.2.1.4: no-cache on the request.
    .init(
      name: "request no-cache", response: with("max-age=60"), request: asking("no-cache"), action: .validate,
      reason: .requestNoCache),
    .init(
      name: "request Pragma", response: with("max-age=60"), request: ["Pragma": "No-Cache"],
      action: .validate, reason: .requestNoCache),
    .init(
      name: "Pragma beside Cache-Control", response: with("max-age=60"),
      request: ["Pragma": "no-cache", "Cache-Control": "max-age=60"], action: .reuse, reason: .fresh),
    .init(
      name: "another Pragma", response: with("max-age=60"), request: ["Pragma": "x"], action: .reuse,
      reason: .fresh),
    .init(
      name: "Pragma of a response", response: ["Cache-Control": "max-age=60", "Pragma": "no-cache"],
      action: .reuse, reason: .fresh),
    .init(
      name: "request no-store", response: with("max-age=60"), request: asking("no-store"), action: .reuse,
      reason: .fresh),
    .init(
      name: "request no-transform", response: with("max-age=60"), request: asking("no-transform"),
      action: .reuse, reason: .fresh),
    // 5.2.1.1: max-age on the request.
    .init(
      name: "request max-age met", response: with("max-age=60"), request: asking("max-age=10"),
      action: .reuse, reason: .fresh),
    .init(
      name: "request max-age passed", response: with("max-age=60"), request: asking("max-age=9"),
      action: .validate, reason: .requestMaxAge),
    .init(
      name: "request max-age=0", response: with("max-age=60"), request: asking("max-age=0"),
      action: .validate, reason: .requestMaxAge),
    .init(
      name: "request max-age unreadable", response: with("max-age=60"), request: asking("max-age=x"),
      action: .validate, reason: .requestMaxAge),
    .init(
      name: "request max-age counts Age", response: ["Cache-Control": "max-age=3600", "Age": "1800"],
      request: asking("max-age=600"), action: .fetch, reason: .requestMaxAge),
    .init(
      name: "immutable on reload", response: with("max-age=60, immutable"), request: asking("max-age=0"),
      action: .reuse, reason: .immutable),
    .init(
      name: "immutable on forced reload", response: with("max-age=60, immutable"),
      request: asking("no-cache"), action: .validate, reason: .requestNoCache),
    .init(
      name: "immutable but stale", response: with("max-age=5, immutable"), request: asking("max-age=0"),
      action: .validate, reason: .stale),
    // 5.2.1.3: min-fresh.
    .init(
      name: "min-fresh met", response: with("max-age=60"), request: asking("min-fresh=50"), action: .reuse,
      reason: .fresh),
    .init(
      name: "min-fresh missed", response: with("max-age=60"), request: asking("min-fresh=51"),
      action: .validate, reason: .requestMinFresh),
    .init(
      name: "min-fresh unreadable", response: with("max-age=60"), request: asking("min-fresh"),
      action: .validate, reason: .requestMinFresh),
    // 5.2.1.2: max-stale.
    .init(
      name: "max-stale", response: with("max-age=5"), request: asking("max-stale"), action: .reuse,
      reason: .maxStale),
    .init(
      name: "max-stale met", response: with("max-age=5"), request: asking("max-stale=5"), action: .reuse,
      reason: .maxStale),
    .init(
      name: "max-stale passed", response: with("max-age=5"), request: asking("max-stale=4"),
      action: .validate, reason: .stale),
    .init(
      name: "max-stale unreadable", response: with("max-age=5"), request: asking("max-stale=x"),
      action: .validate, reason: .stale),
    .init(
      name: "max-stale and max-age", response: with("max-age=5"), request: asking("max-stale, max-age=9"),
      action: .validate, reason: .stale),
    .init(
      name: "max-stale and a wider max-age", response: with("max-age=5"),
      request: asking("max-stale, max-age=10"), action: .reuse, reason: .maxStale),
    .init(
      name: "max-stale and min-fresh", response: with("max-age=5"), request: asking("max-stale, min-fresh=1"),
      action: .validate, reason: .stale),
    .init(
      name: "max-stale against must-revalidate", response: with("max-age=5, must-revalidate"),
      request: asking("max-stale"), action: .validate, reason: .stale),
    .init(
      name: "max-stale against no-cache", response: with("max-age=5, no-cache"), request: asking("max-stale"),
      action: .validate, reason: .responseNoCache),
    .init(
      name: "max-stale against proxy-revalidate", response: with("max-age=5, proxy-revalidate"),
      request: asking("max-stale"), action: .reuse, reason: .maxStale),
    // RFC 5861 section 3: stale-while-revalidate.
    .init(
      name: "stale-while-revalidate", response: with("max-age=5, stale-while-revalidate=6"),
      action: .reuseWhileRevalidating, reason: .staleWhileRevalidate),
    .init(
      name: "stale-while-revalidate over", response: with("max-age=5, stale-while-revalidate=5"),
      action: .validate, reason: .stale),
    .init(
      name: "stale-while-revalidate unreadable", response: with("max-age=5, stale-while-revalidate=x"),
      action: .validate, reason: .stale),
    .init(
      name: "stale-while-revalidate while fresh", response: with("max-age=60, stale-while-revalidate=60"),
      action: .reuse, reason: .fresh),
    .init(
      name: "stale-while-revalidate against must-revalidate",
      response: with("max-age=5, must-revalidate, stale-while-revalidate=60"), action: .validate,
      reason: .stale),
    .init(
      name: "stale-while-revalidate against a request max-age",
      response: with("max-age=5, stale-while-revalidate=60"), request: asking("max-age=60"),
      action: .validate, reason: .stale),
    .init(
      name: "stale-while-revalidate against min-fresh",
      response: with("max-age=5, stale-while-revalidate=60"), request: asking("min-fresh=0"),
      action: .validate, reason: .stale),
    .init(
      name: "stale-while-revalidate against a smaller max-stale",
      response: with("max-age=5, stale-while-revalidate=60"), request: asking("max-stale=4"),
      action: .validate, reason: .stale),
    .init(
      name: "stale-while-revalidate against request no-cache",
      response: with("max-age=5, stale-while-revalidate=60"), request: asking("no-cache"), action: .validate,
      reason: .requestNoCache),
    // 5.2.1.7: only-if-cached.
    .init(
      name: "only-if-cached, fresh", response: with("max-age=60"), request: asking("only-if-cached"),
      action: .reuse, reason: .fresh),
    .init(
      name: "only-if-cached, stale", response: with("max-age=5"), request: asking("only-if-cached"),
      action: .gatewayTimeout, reason: .stale),
    .init(
      name: "only-if-cached, stale, max-stale", response: with("max-age=5"),
      request: asking("only-if-cached, max-stale"), action: .reuse, reason: .maxStale),
    .init(
      name: "only-if-cached, stale-while-revalidate", response: with("max-age=5, stale-while-revalidate=60"),
      request: asking("only-if-cached"), action: .reuse, reason: .staleWhileRevalidate),
    .init(
      name: "only-if-cached, no-cache", response: with("max-age=60, no-cache"),
      request: asking("only-if-cached"), action: .gatewayTimeout, reason: .responseNoCache),
    // 4.3.2: preconditions that are not a cache's to judge.
    .init(
      name: "If-Match", response: with("max-age=60"), request: ["If-Match": "\"a\""], action: .fetch,
      reason: .precondition),
    .init(
      name: "If-Unmodified-Since", response: with("max-age=60"),
      request: ["If-Unmodified-Since": Rule.date()], action: .fetch, reason: .precondition),
    .init(
      name: "If-None-Match", response: with("max-age=60"), request: ["If-None-Match": "\"b\""],
      action: .reuse, reason: .fresh),
    .init(
      name: "Range", response: with("max-age=60"), request: ["Range": "bytes=0-1"], action: .reuse,
      reason: .fresh),
  ]

  func decide(
    _ rows: [StoredResponse], method: RequestMethod = .get, _ fields: HTTPFields = [:], isRead: Bool = false,
    url: String? = nil, after seconds: Int64 = 10
  ) -> HTTPReuse.Decision {
    HTTPReuse.decide(
      method: method, fields: fields, isRead: isRead, url: url, rows: rows, now: Rule.noon + seconds * 1000,
      protect: Rule.plain)
  }

  @Test("The stored response is reused, validated or passed over", arguments: cases) func table(_ test: Case)
  {
    let row = Rule.row(test.response, isInvalid: test.isInvalid)
    let decision = decide([row], test.request, after: test.after)
    #expect(decision.action == test.action)
    #expect(decision.reason == test.reason)
  }

  @Test("Nothing stored is a miss of the URL, no matching variant one of Vary") func misses() {
    let none = decide([])
    #expect((none.action, none.forward) == (.fetch, .uriMiss))
    let other = decide([Rule.row(Self.with("max-age=60"), vary: "foo", variant: "foo: 1")], ["Foo": "2"])
    #expect((other.action, other.forward) == (.fetch, .varyMiss))
    #expect(other.row == nil)
    #expect(decide([], Self.asking("only-if-cached")).action == .gatewayTimeout)
  }

  @Test("The forwarding reason is that of RFC 9211") func forwards() {
    let fresh = Rule.row(Self.with("max-age=60"))
    #expect(decide([fresh]).forward == nil)
    #expect(decide([fresh], after: 60).forward == .stale)
    #expect(decide([fresh], Self.asking("no-cache")).forward == .request)
    #expect(decide([fresh], Self.asking("max-age=1")).forward == .request)
    #expect(decide([fresh], ["If-Match": "*"]).forward == .bypass)
    #expect(decide([fresh], method: .post).forward == .method)
    #expect(decide([fresh], Self.asking("only-if-cached"), after: 60).forward == nil)
  }

  @Test("A GET row answers HEAD, and no other method unless it is a read") func methods() {
    let fresh = Rule.row(Self.with("max-age=60"))
    #expect(decide([fresh], method: .head).action == .reuse)
    #expect(decide([fresh], method: .post).action == .fetch)
    #expect(decide([fresh], method: .post).row == nil)
    #expect(decide([fresh], method: .post, isRead: true).action == .reuse)
  }

  @Test("What a redirect led to is asked for again, since the redirect is not stored with it")
  func redirected() {
    var row = Rule.row(Self.with("max-age=60"))
    row.head.url = "http://b.test/"
    #expect(decide([row], url: "http://a.test/").reason == .redirected)
    #expect(decide([row], url: "http://a.test/").action == .validate)
    #expect(decide([row], url: "http://b.test/").action == .reuse)
  }

  @Test("A row of the tier has to be fresh for a shared cache too, and is not served stale")
  func fromTier() {
    for (control, request, after, action) in [
      ("max-age=60, s-maxage=20", "", 19, .reuse), ("max-age=60, s-maxage=20", "", 20, .validate),
      ("max-age=20, s-maxage=60", "", 19, .reuse), ("max-age=20, s-maxage=60", "", 20, .validate),
      ("max-age=60", "", 59, .reuse), ("max-age=60", "max-stale", 60, .validate),
      ("max-age=60, stale-while-revalidate=60", "", 60, .validate),
    ] as [(String, String, Int64, HTTPReuse.Action)] {
      let asked: HTTPFields = request.isEmpty ? [:] : Self.asking(request)
      var row = Rule.row(Self.with(control))
      row.isFromSharedCache = true
      let decision = decide([row], asked, after: after)
      #expect(decision.action == action, "\(control); \(request); \(after)")
    }
  }

  @Test("Of several reasons to validate the first is told")
  func order() {
    var row = Rule.row(Self.with("max-age=60, no-cache"), receivedAt: Rule.noon + 3_600_000, isInvalid: true)
    row.head.url = "http://b.test/"
    #expect(decide([row], url: "http://a.test/").reason == .invalidated)
    row.isInvalid = false
    #expect(decide([row], url: "http://a.test/").reason == .redirected)
    #expect(decide([row], url: "http://b.test/").reason == .responseNoCache)
    #expect(decide([row]).reason == .responseNoCache)
    row.head.fields = Self.with("max-age=60")
    #expect(decide([row]).reason == .fromFuture && decide([row]).forward == .stale)
  }

  @Test("Of the last good response and the other the more recent one answers") func besideRow() {
    let good = Rule.row(id: 1, Self.with("max-age=60"))
    let gone = Rule.row(
      id: 2, status: 410, ["Cache-Control": "max-age=60", "Date": Rule.date(5)], receivedAt: Rule.noon + 5000,
      isGood: false)
    #expect(decide([good, gone]).row?.id == 2)
    #expect(decide([gone, good]).row?.id == 2)
  }

  @Test("Reused at an instant means reused at every earlier one since receipt") func monotone() {
    for test in Self.cases where test.after >= 0 && test.action == .reuse {
      for seconds in 0...test.after {
        // min-fresh and freshness only grow towards receipt; so does what max-stale and max-age allow.
        let decision = decide(
          [Rule.row(test.response, isInvalid: test.isInvalid)], test.request, after: seconds)
        #expect(decision.action == .reuse, Comment(rawValue: "\(test.name) after \(seconds) s"))
      }
    }
  }
}
