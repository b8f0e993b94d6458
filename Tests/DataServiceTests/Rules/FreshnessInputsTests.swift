import CacheStore
import Testing
import TestTurns

@testable import DataService

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
