import CacheStore
import DataService
import Testing
import TestTurns

@Suite("What a request asks of a cache, RFC 9111 section 5.2.1", .inTurn) struct RequestDirectivesTests {
  private func asking(_ control: String) -> RequestDirectives {
    RequestDirectives(fields: control.isEmpty ? [:] : ["Cache-Control": control])
  }

  @Test("no-cache demands validation, and Pragma where it stands alone, section 5.4") func validation() {
    let cases: [(fields: HTTPFields, demands: Bool, hasPragma: Bool)] = [
      ([:], false, false), (["Cache-Control": "no-cache"], true, false), (["Pragma": "no-cache"], true, true),
      (["Pragma": "x, No-Cache"], true, true), (["Pragma": "x", "pragma": "no-cache"], true, true),
      (["Pragma": "cache"], false, false),
      (["Pragma": "no-cache", "Cache-Control": "max-age=1"], false, false),
      (["Pragma": "no-cache", "Cache-Control": ""], false, false),
      (["Cache-Control": "no-cache=\"X\""], true, false),
      (["Cache-Control": "no-store"], false, false),
    ]
    for (fields, demands, hasPragma) in cases {
      let directives = RequestDirectives(fields: fields)
      #expect(directives.demandsValidation == demands, "\(fields.all)")
      #expect(directives.hasPragmaNoCache == hasPragma, "\(fields.all)")
    }
  }

  @Test("max-age accepts up to its age, section 5.2.1.1") func maxAge() {
    for (control, age, accepts) in [
      ("", 9_999_999, true), ("max-age=5", 4_999, true), ("max-age=5", 5_000, true),
      ("max-age=5", 5_001, false),
      ("max-age=0", 0, true), ("max-age=0", 1, false), ("max-age=x", 0, false), ("max-age", 0, false),
      ("min-fresh=5", 5_001, true),
    ] as [(String, Int64, Bool)] {
      #expect(asking(control).acceptsAge(age) == accepts, "\(control), \(age)")
    }
  }

  @Test("min-fresh wants at least so much left, section 5.2.1.3") func minFresh() {
    for (control, remaining, accepts) in [
      ("", 0, true), ("min-fresh=5", 4_999, false), ("min-fresh=5", 5_000, true),
      ("min-fresh=5", 5_001, true),
      ("min-fresh=0", 0, true), ("min-fresh=0", -1, false), ("min-fresh=x", 9_999, false),
      ("max-age=5", 1, true),
    ] as [(String, Int64, Bool)] {
      #expect(asking(control).acceptsFreshness(remaining) == accepts, "\(control), \(remaining)")
    }
  }

  @Test("max-stale takes up to its staleness, or any, section 5.2.1.2") func maxStale() {
    for (control, staleness, asks) in [
      ("", 0, false), ("max-stale", .max, true), ("max-stale=5", 4_999, true), ("max-stale=5", 5_000, true),
      ("max-stale=5", 5_001, false), ("max-stale=0", 0, true), ("max-stale=0", 1, false),
      ("max-stale=x", 0, false),
      ("max-age=5", 0, false),
    ] as [(String, Int64, Bool)] {
      #expect(asking(control).asksForStaleness(staleness) == asks, "\(control), \(staleness)")
    }
  }

  @Test("What the caller has said rules out the rest") func rulesOut() {
    for (control, staleness, rulesOut) in [
      ("", 1, false), ("max-stale=5", 5_000, false), ("max-stale=5", 5_001, true), ("max-stale", .max, false),
      ("no-cache", 1, true), ("max-age=9", 1, true), ("max-age=x", 1, true), ("min-fresh=0", 1, true),
      ("no-cache, max-age=1, min-fresh=1, max-stale=5", 5_000, false), ("no-store", 1, false),
      ("stale-if-error=5", 9_000, false),
    ] as [(String, Int64, Bool)] {
      #expect(asking(control).rulesOutStaleness(staleness) == rulesOut, "\(control), \(staleness)")
    }
    #expect(RequestDirectives(fields: ["Pragma": "no-cache"]).rulesOutStaleness(1))
  }
}
