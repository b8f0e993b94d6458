import CacheStore
import DataService
import Testing
import TestTurns

@Suite("What an answer does, under every policy but http", .inTurn) struct AnswerRuleTests {
  typealias Change = @Sendable (inout AnswerRule.Situation) -> Void
  static let none: Change = { _ in }
  static let validating: Change = {
    $0.wasConditional = true
    $0.rowFields = ["ETag": "\"a\""]
    $0.canFallBack = true
  }
  static let stored: Change = { $0.canFallBack = true }
  static func both(_ one: @escaping Change, _ other: @escaping Change) -> Change {
    {
      one(&$0); other(&$0)
    }
  }

  static let cases:
    [(name: String, status: Int, fields: HTTPFields, change: Change, outcome: AnswerRule.Decision)] = [
      ("200", 200, [:], none, .init(.fresh, .replaced)),
      ("201", 201, [:], none, .init(.fresh, .replaced)),
      ("204", 204, [:], none, .init(.fresh, .replaced)),
      ("299", 299, [:], none, .init(.fresh, .replaced)),
      ("200 to a conditional request", 200, [:], validating, .init(.fresh, .replaced)),
      ("304 to our validator", 304, [:], validating, .init(.freshByValidation, .freshened)),
      ("304 with the same tag", 304, ["ETag": "\"a\""], validating, .init(.freshByValidation, .freshened)),
      (
        "304 with another tag", 304, ["ETag": "\"b\""], validating,
        .init(.repeatUnconditional, .untouched(.status))
      ),
      (
        "304 when the row has gone", 304, [:], { $0.wasConditional = true },
        .init(.repeatUnconditional, .untouched(.status))
      ),
      (
        "the same, repeated", 304, [:],
        {
          $0.wasConditional = true; $0.isRepeated = true
        }, .init(.protocolFailure, .untouched(.status))
      ),
      (
        "304 with no-store", 304, ["Cache-Control": "no-store"], validating,
        .init(.freshByValidation, .untouched(.noStore))
      ),
      (
        "304 behind a no-store redirect", 304, [:], both(validating, { $0.isNoStoreChain = true }),
        .init(.freshByValidation, .untouched(.noStore))
      ),
      (
        "304 with no-store, kept anyway", 304, ["Cache-Control": "no-store"],
        both(validating, { $0.keepsAnyway = true }), .init(.freshByValidation, .freshened)
      ),
      ("304 unasked", 304, [:], none, .init(.protocolFailure, .untouched(.status))),
      (
        "304 to the caller's condition", 304, [:],
        {
          $0.isPassThrough = true; $0.hasCallerPrecondition = true
        }, .init(.fresh, .untouched(.passThrough))
      ),
      ("206 unasked", 206, [:], none, .init(.protocolFailure, .untouched(.status))),
      (
        "206 to the caller's Range", 206, [:],
        {
          $0.isPassThrough = true; $0.hasCallerRange = true
        }, .init(.fresh, .untouched(.passThrough))
      ),
      ("300", 300, [:], stored, .init(.fresh, .untouched(.status))),
      (
        "300 as a portal gives it, over a row", 300, [:], both(stored, { $0.isPortalSuspect = true }),
        .init(.fresh, .untouched(.status))
      ),
      (
        "300 of another media type", 300, [:], { $0.isAcceptedMediaType = false },
        .init(.fresh, .untouched(.status))
      ),
      ("301 not followed", 301, [:], stored, .init(.fresh, .untouched(.status))),
      ("404", 404, [:], stored, .init(.fresh, .untouched(.status))),
      ("410", 410, [:], stored, .init(.fresh, .untouched(.status))),
      ("401", 401, [:], stored, .init(.fresh, .untouched(.status))),
      ("408 over a row", 408, [:], stored, .init(.statusFailure, .untouched(.status))),
      ("429 over a row", 429, [:], stored, .init(.statusFailure, .untouched(.status))),
      ("500 over a row", 500, [:], stored, .init(.statusFailure, .untouched(.status))),
      ("503 over a row", 503, [:], stored, .init(.statusFailure, .untouched(.status))),
      ("599 over a row", 599, [:], stored, .init(.statusFailure, .untouched(.status))),
      ("408 with nothing stored", 408, [:], none, .init(.fresh, .untouched(.status))),
      ("429 with nothing stored", 429, [:], none, .init(.fresh, .untouched(.status))),
      ("503 with nothing stored", 503, [:], none, .init(.fresh, .untouched(.status))),
      ("200 no-store", 200, ["Cache-Control": "no-store"], none, .init(.fresh, .untouched(.noStore))),
      (
        "200 no-store, kept anyway", 200, ["Cache-Control": "no-store"], { $0.keepsAnyway = true },
        .init(.fresh, .replaced)
      ),
      (
        "200 behind a no-store redirect", 200, [:], { $0.isNoStoreChain = true },
        .init(.fresh, .untouched(.noStore))
      ),
      ("200 to HEAD", 200, [:], { $0.method = .head }, .init(.fresh, .untouched(.method))),
      (
        "200 to a pass-through request", 200, [:], { $0.isPassThrough = true },
        .init(.fresh, .untouched(.passThrough))
      ),
      (
        "404 to a pass-through request", 404, [:], { $0.isPassThrough = true },
        .init(.fresh, .untouched(.passThrough))
      ),
      (
        "200 as a portal gives it", 200, [:], { $0.isPortalSuspect = true },
        .init(.fresh, .untouched(.portal))
      ),
      (
        "200 as a portal gives it, to a pass-through request", 200, [:],
        {
          $0.isPassThrough = true; $0.isPortalSuspect = true
        }, .init(.fresh, .untouched(.passThrough))
      ),
      (
        "200 as a portal gives it, over a row", 200, [:], both(stored, { $0.isPortalSuspect = true }),
        .init(.portalFailure, .untouched(.portal))
      ),
      (
        "200 no-store as a portal gives it, over a row", 200, ["Cache-Control": "no-store"],
        both(stored, { $0.isPortalSuspect = true }), .init(.portalFailure, .untouched(.portal))
      ),
      (
        "404 as a portal gives it, over a row", 404, [:], both(stored, { $0.isPortalSuspect = true }),
        .init(.fresh, .untouched(.status))
      ),
      (
        "200 of another media type", 200, [:], { $0.isAcceptedMediaType = false },
        .init(.mediaTypeFailure, .untouched(.mediaType))
      ),
      (
        "404 of another media type", 404, [:], { $0.isAcceptedMediaType = false },
        .init(.fresh, .untouched(.status))
      ),
      (
        "304 without a media type", 304, [:], both(validating, { $0.isAcceptedMediaType = false }),
        .init(.freshByValidation, .freshened)
      ),
      ("200 with Vary: *", 200, ["Vary": "*"], none, .init(.fresh, .untouched(.vary))),
      (
        "200 with Vary: * and no-store", 200, ["Vary": "*", "Cache-Control": "no-store"], none,
        .init(.fresh, .untouched(.noStore))
      ),
      (
        "200 no-store to HEAD", 200, ["Cache-Control": "no-store"], { $0.method = .head },
        .init(.fresh, .untouched(.method))
      ),
      (
        "200 to HEAD that bypasses the store", 200, [:],
        {
          $0.method = .head; $0.isPassThrough = true
        }, .init(.fresh, .untouched(.passThrough))
      ),
      (
        "503 to a pass-through request", 503, [:], { $0.isPassThrough = true },
        .init(.fresh, .untouched(.passThrough))
      ),
      (
        "206 of another media type, to the caller's Range", 206, [:],
        {
          $0.isPassThrough = true; $0.hasCallerRange = true; $0.isAcceptedMediaType = false
        }, .init(.mediaTypeFailure, .untouched(.mediaType))
      ),
      (
        "206 of another media type, unasked", 206, [:], { $0.isAcceptedMediaType = false },
        .init(.protocolFailure, .untouched(.status))
      ),
      (
        "200 of another media type as a portal gives it, over a row", 200, [:],
        both(stored, both({ $0.isPortalSuspect = true }, { $0.isAcceptedMediaType = false })),
        .init(.mediaTypeFailure, .untouched(.mediaType))
      ),
      (
        "206 as a portal gives it, to the caller's Range", 206, [:],
        both(stored, both({ $0.hasCallerRange = true }, { $0.isPortalSuspect = true })),
        .init(.fresh, .untouched(.status))
      ),
      (
        "199 as a portal gives it, of another media type", 199, [:],
        both(stored, both({ $0.isPortalSuspect = true }, { $0.isAcceptedMediaType = false })),
        .init(.fresh, .untouched(.status))
      ),
      ("407 over a row", 407, [:], stored, .init(.fresh, .untouched(.status))),
      ("409 over a row", 409, [:], stored, .init(.fresh, .untouched(.status))),
      ("428 over a row", 428, [:], stored, .init(.fresh, .untouched(.status))),
      ("430 over a row", 430, [:], stored, .init(.fresh, .untouched(.status))),
      ("499 over a row", 499, [:], stored, .init(.fresh, .untouched(.status))),
      (
        "304 with Vary: *", 304, ["Vary": "*"], validating, .init(.freshByValidation, .untouched(.vary))
      ),
    ]

  @Test(
    "The answer decides what is delivered and what becomes of the last good response",
    arguments: cases.indices)
  func table(index: Int) {
    let (name, status, fields, change, outcome) = Self.cases[index]
    var situation = AnswerRule.Situation()
    change(&situation)
    let decided = AnswerRule.decide(status: status, fields: fields, situation: situation)
    #expect(decided == outcome, Comment(rawValue: name))
  }

  @Test("A body is stored where the answer replaces the last good response or is kept beside it")
  func stored() {
    #expect(AnswerRule.Row.replaced.isStored && AnswerRule.Row.keptForHTTPOnly.isStored)
    for row in [AnswerRule.Row.freshened, .freshenedByHead, .invalidatedByHead, .untouched(.noStore)] {
      #expect(!row.isStored, "\(row)")
    }
  }

  @Test("no-store never leads to a write, whatever else the answer and the situation are")
  func noStoreNeverWrites() {
    for (_, status, fields, change, _) in Self.cases {
      for (onChain, spelling) in [(true, ""), (false, "no-store"), (false, "max-age=9, NO-STORE=\"\"")] {
        var situation = AnswerRule.Situation()
        change(&situation)
        situation.keepsAnyway = false
        situation.isNoStoreChain = onChain
        var answer = fields
        if !spelling.isEmpty { answer.append("Cache-Control", spelling) }
        let row = AnswerRule.decide(status: status, fields: answer, situation: situation).row
        if case .untouched = row { continue }
        Issue.record("status \(status) writes \(row)")
      }
    }
  }

  @Test("A failed refresh changes nothing: no status from 400 on touches the row") func errorsTouchNothing() {
    for status in 400...999 {
      for canFallBack in [true, false] {
        var situation = AnswerRule.Situation()
        situation.canFallBack = canFallBack
        let row = AnswerRule.decide(
          status: status, fields: ["Cache-Control": "max-age=60"], situation: situation
        ).row
        #expect(row == .untouched(.status), "\(canFallBack)")
      }
    }
  }
}
