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
  }
  static func both(_ one: @escaping Change, _ other: @escaping Change) -> Change {
    {
      one(&$0); other(&$0)
    }
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let status: Int
    let fields: HTTPFields
    let change: Change
    let outcome: AnswerRule.Decision

    init(
      _ name: String, _ status: Int, _ fields: HTTPFields, _ change: @escaping Change,
      _ outcome: AnswerRule.Decision
    ) {
      (testDescription, self.status, self.fields) = (name, status, fields)
      (self.change, self.outcome) = (change, outcome)
    }
  }

  static let cases: [Case] = [
    Case("200", 200, [:], none, .init(.fresh, .replaced)),
    Case("201", 201, [:], none, .init(.fresh, .replaced)),
    Case("204", 204, [:], none, .init(.fresh, .replaced)),
    Case("299", 299, [:], none, .init(.fresh, .replaced)),
    Case("200 to a conditional request", 200, [:], validating, .init(.fresh, .replaced)),
    Case("304 to our validator", 304, [:], validating, .init(.freshByValidation, .freshened)),
    Case("304 with the same tag", 304, ["ETag": "\"a\""], validating, .init(.freshByValidation, .freshened)),
    Case(
      "304 with another tag", 304, ["ETag": "\"b\""], validating,
      .init(.repeatUnconditional, .untouched(.status))),
    Case(
      "304 when the row has gone", 304, [:], { $0.wasConditional = true },
      .init(.repeatUnconditional, .untouched(.status))),
    Case(
      "the same, repeated", 304, [:],
      {
        $0.wasConditional = true; $0.isRepeated = true
      }, .init(.protocolFailure, .untouched(.status))),
    Case(
      "304 with no-store", 304, ["Cache-Control": "no-store"], validating,
      .init(.freshByValidation, .untouched(.noStore))),
    Case(
      "304 behind a no-store redirect", 304, [:], both(validating, { $0.isNoStoreChain = true }),
      .init(.freshByValidation, .untouched(.noStore))),
    Case(
      "304 with no-store, kept anyway", 304, ["Cache-Control": "no-store"],
      both(validating, { $0.keepsAnyway = true }), .init(.freshByValidation, .freshened)),
    Case("304 unasked", 304, [:], none, .init(.protocolFailure, .untouched(.status))),
    Case(
      "304 to the caller's condition", 304, [:],
      {
        $0.isPassThrough = true; $0.requestFields = ["If-None-Match": "\"x\""]
      }, .init(.fresh, .untouched(.passThrough))),
    Case("206 unasked", 206, [:], none, .init(.protocolFailure, .untouched(.status))),
    Case(
      "206 to the caller's Range", 206, [:],
      {
        $0.isPassThrough = true; $0.requestFields = ["Range": "bytes=0-1"]
      }, .init(.fresh, .untouched(.passThrough))),
    Case("300", 300, [:], none, .init(.fresh, .untouched(.status))),
    Case(
      "300 as a portal gives it", 300, [:], { $0.isPortalSuspect = true },
      .init(.fresh, .untouched(.status))),
    Case(
      "300 of another media type", 300, [:], { $0.isAcceptedMediaType = false },
      .init(.fresh, .untouched(.status))),
    Case("301 not followed", 301, [:], none, .init(.fresh, .untouched(.status))),
    Case("404", 404, [:], none, .init(.fresh, .untouched(.status))),
    Case("410", 410, [:], none, .init(.fresh, .untouched(.status))),
    Case("401", 401, [:], none, .init(.fresh, .untouched(.status))),
    Case("408", 408, [:], none, .init(.fresh, .untouched(.status))),
    Case("429", 429, [:], none, .init(.fresh, .untouched(.status))),
    Case("500", 500, [:], none, .init(.fresh, .untouched(.status))),
    Case("503", 503, [:], none, .init(.fresh, .untouched(.status))),
    Case("599", 599, [:], none, .init(.fresh, .untouched(.status))),
    Case("200 no-store", 200, ["Cache-Control": "no-store"], none, .init(.fresh, .untouched(.noStore))),
    Case(
      "200 no-store, kept anyway", 200, ["Cache-Control": "no-store"], { $0.keepsAnyway = true },
      .init(.fresh, .replaced)),
    Case(
      "200 behind a no-store redirect", 200, [:], { $0.isNoStoreChain = true },
      .init(.fresh, .untouched(.noStore))),
    Case("200 to HEAD", 200, [:], { $0.method = .head }, .init(.fresh, .untouched(.method))),
    Case(
      "200 to a pass-through request", 200, [:], { $0.isPassThrough = true },
      .init(.fresh, .untouched(.passThrough))),
    Case(
      "404 to a pass-through request", 404, [:], { $0.isPassThrough = true },
      .init(.fresh, .untouched(.passThrough))),
    Case(
      "200 as a portal gives it", 200, [:], { $0.isPortalSuspect = true },
      .init(.fresh, .untouched(.portal))),
    Case(
      "200 as a portal gives it, to a pass-through request", 200, [:],
      {
        $0.isPassThrough = true; $0.isPortalSuspect = true
      }, .init(.fresh, .untouched(.passThrough))),
    Case(
      "200 as a portal gives it", 200, [:], { $0.isPortalSuspect = true },
      .init(.fresh, .untouched(.portal))),
    Case(
      "200 no-store as a portal gives it", 200, ["Cache-Control": "no-store"],
      { $0.isPortalSuspect = true }, .init(.fresh, .untouched(.portal))),
    Case(
      "404 as a portal gives it", 404, [:], { $0.isPortalSuspect = true },
      .init(.fresh, .untouched(.status))),
    Case(
      "200 of another media type", 200, [:], { $0.isAcceptedMediaType = false },
      .init(.mediaTypeFailure, .untouched(.mediaType))),
    Case(
      "404 of another media type", 404, [:], { $0.isAcceptedMediaType = false },
      .init(.fresh, .untouched(.status))),
    Case(
      "304 without a media type", 304, [:], both(validating, { $0.isAcceptedMediaType = false }),
      .init(.freshByValidation, .freshened)),
    Case("200 with Vary: *", 200, ["Vary": "*"], none, .init(.fresh, .untouched(.vary))),
    Case(
      "200 with Vary: * and no-store", 200, ["Vary": "*", "Cache-Control": "no-store"], none,
      .init(.fresh, .untouched(.noStore))),
    Case(
      "200 no-store to HEAD", 200, ["Cache-Control": "no-store"], { $0.method = .head },
      .init(.fresh, .untouched(.method))),
    Case(
      "200 to HEAD that bypasses the store", 200, [:],
      {
        $0.method = .head; $0.isPassThrough = true
      }, .init(.fresh, .untouched(.passThrough))),
    Case(
      "503 to a pass-through request", 503, [:], { $0.isPassThrough = true },
      .init(.fresh, .untouched(.passThrough))),
    Case(
      "206 of another media type, to the caller's Range", 206, [:],
      {
        $0.isPassThrough = true; $0.requestFields = ["Range": "bytes=0-1"]; $0.isAcceptedMediaType = false
      }, .init(.mediaTypeFailure, .untouched(.mediaType))),
    Case(
      "206 of another media type, unasked", 206, [:], { $0.isAcceptedMediaType = false },
      .init(.protocolFailure, .untouched(.status))),
    Case(
      "200 of another media type as a portal gives it", 200, [:],
      both({ $0.isPortalSuspect = true }, { $0.isAcceptedMediaType = false }),
      .init(.mediaTypeFailure, .untouched(.mediaType))),
    Case(
      "206 as a portal gives it, to the caller's Range", 206, [:],
      both({ $0.requestFields = ["Range": "bytes=0-1"] }, { $0.isPortalSuspect = true }),
      .init(.fresh, .untouched(.status))),
    Case(
      "199 as a portal gives it, of another media type", 199, [:],
      both({ $0.isPortalSuspect = true }, { $0.isAcceptedMediaType = false }),
      .init(.fresh, .untouched(.status))),
    Case("407", 407, [:], none, .init(.fresh, .untouched(.status))),
    Case("409", 409, [:], none, .init(.fresh, .untouched(.status))),
    Case("428", 428, [:], none, .init(.fresh, .untouched(.status))),
    Case("430", 430, [:], none, .init(.fresh, .untouched(.status))),
    Case("499", 499, [:], none, .init(.fresh, .untouched(.status))),
    Case(
      "304 with Vary: *", 304, ["Vary": "*"], validating, .init(.freshByValidation, .untouched(.vary))),
  ]

  @Test(
    "The answer decides what is delivered and what becomes of the last good response",
    arguments: cases)
  func table(_ test: Case) {
    var situation = AnswerRule.Situation()
    test.change(&situation)
    let decided = AnswerRule.decide(status: test.status, fields: test.fields, situation: situation)
    #expect(decided == test.outcome)
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
    for test in Self.cases {
      for (onChain, spelling) in [(true, ""), (false, "no-store"), (false, "max-age=9, NO-STORE=\"\"")] {
        var situation = AnswerRule.Situation()
        test.change(&situation)
        situation.keepsAnyway = false
        situation.isNoStoreChain = onChain
        var answer = test.fields
        if !spelling.isEmpty { answer.append("Cache-Control", spelling) }
        let row = AnswerRule.decide(status: test.status, fields: answer, situation: situation).row
        if case .untouched = row { continue }
        Issue.record("\(test.testDescription): writes \(row)")
      }
    }
  }

  @Test("A failed refresh changes nothing: no status from 400 on touches the row") func errorsTouchNothing() {
    for status in 400...999 {
      let row = AnswerRule.decide(status: status, fields: ["Cache-Control": "max-age=60"], situation: .init())
        .row
      #expect(row == .untouched(.status), "\(status)")
    }
  }
}
