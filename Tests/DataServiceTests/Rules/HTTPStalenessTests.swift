import CacheStore
import DataService
import Testing
import TestTurns

@Suite("Stale answers after a failure, RFC 9111 section 4.2.4 and RFC 5861 section 4", .inTurn)
struct HTTPStalenessTests {
  static let cases: [(String, String, String, HTTPStaleness.Failure, Bool)] = [
    ("no answer", "max-age=5", "", .noAnswer, true),
    ("no answer, must-revalidate", "max-age=5, must-revalidate", "", .noAnswer, false),
    ("no answer, no-cache", "max-age=5, no-cache", "", .noAnswer, false),
    ("no answer, no-cache for a field", "max-age=5, no-cache=\"X\"", "", .noAnswer, true),
    ("no answer, proxy-revalidate", "max-age=5, proxy-revalidate", "", .noAnswer, true),
    ("no answer, s-maxage", "max-age=5, s-maxage=5", "", .noAnswer, true),
    ("no answer, request no-cache", "max-age=5", "no-cache", .noAnswer, false),
    ("no answer, request max-age", "max-age=5", "max-age=60", .noAnswer, false),
    ("no answer, request min-fresh", "max-age=5", "min-fresh=0", .noAnswer, false),
    ("no answer, request max-stale", "max-age=5", "max-stale=5", .noAnswer, true),
    ("no answer, request max-stale passed", "max-age=5", "max-stale=4", .noAnswer, false),
    ("503", "max-age=5", "", .status(503), false),
    ("503 within stale-if-error", "max-age=5, stale-if-error=5", "", .status(503), true),
    ("503 after stale-if-error", "max-age=5, stale-if-error=4", "", .status(503), false),
    ("500 within", "max-age=5, stale-if-error=5", "", .status(500), true),
    ("502 within", "max-age=5, stale-if-error=5", "", .status(502), true),
    ("504 within", "max-age=5, stale-if-error=5", "", .status(504), true),
    ("501 within", "max-age=5, stale-if-error=5", "", .status(501), false),
    ("404 within", "max-age=5, stale-if-error=5", "", .status(404), false),
    ("503, request stale-if-error", "max-age=5", "stale-if-error=5", .status(503), true),
    (
      "503, the longer of both, the response's", "max-age=5, stale-if-error=5", "stale-if-error=1",
      .status(503), true
    ),
    ("503, a window without a number", "max-age=5, stale-if-error=x", "", .status(503), false),
    ("499 within", "max-age=5, stale-if-error=5", "", .status(499), false),
    ("505 within", "max-age=5, stale-if-error=5", "", .status(505), false),
    ("200 within", "max-age=5, stale-if-error=5", "", .status(200), false),
    ("503, no-cache", "max-age=5, no-cache, stale-if-error=60", "", .status(503), false),
    ("503, max-stale passed", "max-age=5, stale-if-error=60", "max-stale=4", .status(503), false),
    ("503, max-stale alone", "max-age=5", "max-stale=5", .status(503), false),
    ("503, the longer of both", "max-age=5, stale-if-error=1", "stale-if-error=5", .status(503), true),
    ("503, must-revalidate", "max-age=5, must-revalidate, stale-if-error=60", "", .status(503), false),
    ("503, request max-age", "max-age=5, stale-if-error=60", "max-age=60", .status(503), false),
  ]

  @Test("a stale response is served after a failure where both sides allow it", arguments: cases)
  func table(name: String, response: String, request: String, failure: HTTPStaleness.Failure, allowed: Bool) {
    let directives = RequestDirectives(fields: request.isEmpty ? [:] : ["Cache-Control": request])
    let isAllowed = HTTPStaleness.isAllowed(
      Rule.row(["Cache-Control": response]), after: failure, directives: directives, now: Rule.noon + 10_000)
    #expect(isAllowed == allowed, Comment(rawValue: name))
  }

  @Test(
    "An origin is unheard where no answer came; what the caller ended or the origin said wrongly is another matter"
  )
  func unheard() {
    let unheard: [DataServiceError.Kind] = [
      .offline, .dns, .refused, .unreachable, .disconnected, .timeout(.connect), .timeout(.idle),
      .tls("expired"),
      .proxy, .truncated, .paused, .libraryMissing,
    ]
    let heard: [DataServiceError.Kind] = [
      .protocol, .tooLarge, .tooManyRedirects, .status, .cancelled, .closed, .signedOut, .invalidRequest,
      .undecodable,
      .store, .notStored, .other,
    ]
    for kind in unheard { #expect(HTTPStaleness.isUnheard(kind), Comment(rawValue: kind.name)) }
    for kind in heard { #expect(!HTTPStaleness.isUnheard(kind), Comment(rawValue: kind.name)) }
  }

  @Test("A row that an unsafe request made invalid is not served") func invalid() {
    let row = Rule.row(["Cache-Control": "max-age=60"], isInvalid: true)
    #expect(!HTTPStaleness.isAllowed(row, after: .noAnswer, directives: .init(fields: [:]), now: Rule.noon))
  }

  private func row(_ control: String, isInvalid: Bool = false) -> StoredResponse {
    Rule.row(["Cache-Control": control], isInvalid: isInvalid)
  }

  private func asking(_ control: String) -> RequestDirectives {
    RequestDirectives(fields: control.isEmpty ? [:] : ["Cache-Control": control])
  }

  @Test("Staleness is age less lifetime") func staleness() {
    for (after, staleness) in [(0, -5_000), (4_999, -1), (5_000, 0), (5_001, 1)] as [(Int64, Int64)] {
      #expect(HTTPStaleness.staleness(of: row("max-age=5"), now: Rule.noon + after) == staleness, "\(after)")
    }
  }

  @Test("must-revalidate, no-cache and invalidation forbid every stale use, sections 5.2.2.2, 5.2.2.4, 4.4")
  func forbidden() {
    for (control, isInvalid, isForbidden) in [
      ("max-age=5", false, false), ("must-revalidate", false, true), ("no-cache", false, true),
      ("max-age=5", true, true), ("no-cache=\"X\"", false, false),
      ("proxy-revalidate, s-maxage=1", false, false),
      ("no-store, private", false, false),
    ] {
      #expect(HTTPStaleness.isForbidden(row(control, isInvalid: isInvalid)) == isForbidden, "\(control)")
    }
  }

  @Test("What forbids it to a shared cache alone counts in a row of the tier", arguments: [true, false])
  func forbiddenInTier(isShared: Bool) {
    for (control, isForbidden) in [
      ("max-age=5, proxy-revalidate", true), ("s-maxage=5", true), ("max-age=5", false), ("public", false),
    ] {
      var row = Rule.row(["Cache-Control": control])
      row.isFromSharedCache = isShared
      #expect(HTTPStaleness.isForbidden(row) == (isForbidden && isShared), "\(control)")
    }
  }

  @Test("max-stale allows so much staleness, section 5.2.1.2") func byRequest() {
    for (response, request, after, isAllowed) in [
      ("max-age=5", "", 6_000, false), ("max-age=5", "max-stale=1", 6_000, true),
      ("max-age=5", "max-stale=1", 6_001, false), ("max-age=5", "max-stale", 999_999, true),
      ("max-age=5, must-revalidate", "max-stale", 6_000, false),
    ] as [(String, String, Int64, Bool)] {
      let allowed = HTTPStaleness.isAllowedByRequest(
        row(response), directives: asking(request), now: Rule.noon + after)
      #expect(allowed == isAllowed, "\(response); \(request); \(after)")
    }
  }

  @Test("stale-while-revalidate covers less than its seconds, RFC 5861 section 3") func whileRevalidating() {
    for (response, request, after, isAllowed) in [
      ("max-age=5", "", 5_000, false), ("max-age=5, stale-while-revalidate=2", "", 6_999, true),
      ("max-age=5, stale-while-revalidate=2", "", 7_000, false),
      ("max-age=5, stale-while-revalidate=0", "", 5_000, false),
      ("max-age=5, stale-while-revalidate=x", "", 5_000, false),
      ("max-age=5, stale-while-revalidate=2, must-revalidate", "", 5_000, false),
      ("max-age=5, stale-while-revalidate=2", "no-cache", 5_000, false),
      ("max-age=5, stale-while-revalidate=2", "max-stale=1", 6_000, true),
      ("max-age=5, stale-while-revalidate=2", "max-stale=1", 6_001, false),
    ] as [(String, String, Int64, Bool)] {
      let allowed = HTTPStaleness.isAllowedWhileRevalidating(
        row(response), directives: asking(request), now: Rule.noon + after)
      #expect(allowed == isAllowed, "\(response); \(request); \(after)")
    }
  }
}
