import CacheStore
import Testing
import TestTurns

@testable import DataService

@Suite("What an answer does under http, in the terms of the other policies", .inTurn)
struct AnswerRuleHTTPTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var status: Int
    var response: HTTPFields = [:]
    var method: RequestMethod = .get
    var isRead = false
    var row: HTTPFields?
    var situation: @Sendable (inout AnswerRule.Situation) -> Void = { _ in }
    var outcome: AnswerRule.Decision
    var testDescription: String { name }
  }

  static let tagged: HTTPFields = ["ETag": "\"a\"", "Cache-Control": "max-age=5, stale-if-error=60"]
  static let unaccepted: @Sendable (inout AnswerRule.Situation) -> Void = { $0.isAcceptedMediaType = false }
  static let portal: @Sendable (inout AnswerRule.Situation) -> Void = { $0.isPortalSuspect = true }
  static let conditional: @Sendable (inout AnswerRule.Situation) -> Void = { $0.wasConditional = true }

  static let cases: [Case] = [
    .init(name: "200", status: 200, outcome: .init(.fresh, .replaced)),
    .init(
      name: "404 max-age", status: 404, response: ["Cache-Control": "max-age=9"], row: tagged,
      outcome: .init(.fresh, .keptForHTTPOnly)),
    .init(name: "404", status: 404, row: tagged, outcome: .init(.fresh, .untouched(.notStorable))),
    .init(name: "POST", status: 200, method: .post, outcome: .init(.fresh, .untouched(.method))),
    .init(name: "a read", status: 200, method: .post, isRead: true, outcome: .init(.fresh, .replaced)),
    .init(
      name: "behind a no-store redirect", status: 200, situation: { $0.isNoStoreChain = true },
      outcome: .init(.fresh, .untouched(.noStore))),
    // Only a success is of a type; only a success is a portal's page.
    .init(
      name: "199 of another media type", status: 199, situation: unaccepted,
      outcome: .init(.fresh, .untouched(.status))),
    .init(
      name: "200 of another media type", status: 200, row: tagged, situation: unaccepted,
      outcome: .init(.mediaTypeFailure, .untouched(.mediaType))),
    .init(
      name: "299 of another media type", status: 299, situation: unaccepted,
      outcome: .init(.mediaTypeFailure, .untouched(.mediaType))),
    .init(
      name: "300 of another media type", status: 300, situation: unaccepted,
      outcome: .init(.fresh, .untouched(.notStorable))),
    .init(
      name: "199 as a portal gives it", status: 199, situation: portal,
      outcome: .init(.fresh, .untouched(.status))),
    .init(
      name: "200 as a portal gives it", status: 200, row: tagged, situation: portal,
      outcome: .init(.fresh, .untouched(.portal))),
    .init(
      name: "299 as a portal gives it", status: 299, situation: portal,
      outcome: .init(.fresh, .untouched(.portal))),
    .init(
      name: "300 as a portal gives it", status: 300, situation: portal,
      outcome: .init(.fresh, .untouched(.notStorable))),
    .init(
      name: "200 of another media type as a portal gives it", status: 200, row: tagged,
      situation: {
        $0.isPortalSuspect = true
        $0.isAcceptedMediaType = false
      }, outcome: .init(.mediaTypeFailure, .untouched(.mediaType))),
    .init(
      name: "206 unasked, as a portal gives it", status: 206, row: tagged, situation: portal,
      outcome: .init(.protocolFailure, .untouched(.status))),
    .init(
      name: "304 without a media type", status: 304, row: tagged,
      situation: {
        $0.wasConditional = true
        $0.isAcceptedMediaType = false
      }, outcome: .init(.freshByValidation, .freshened)),
    .init(
      name: "304 with Vary: *", status: 304, response: ["Vary": "*"], row: tagged, situation: conditional,
      outcome: .init(.freshByValidation, .untouched(.vary))),
    .init(
      name: "200 as a portal gives it to a POST", status: 200, method: .post,
      situation: {
        $0.isPortalSuspect = true
        $0.isPassThrough = true
      }, outcome: .init(.fresh, .untouched(.method))),
    .init(
      name: "304", status: 304, row: tagged, situation: conditional,
      outcome: .init(.freshByValidation, .freshened)),
    .init(
      name: "304 with no-store", status: 304, response: ["Cache-Control": "no-store"], row: tagged,
      situation: conditional, outcome: .init(.freshByValidation, .untouched(.noStore))),
    .init(
      name: "304, row gone", status: 304, situation: conditional,
      outcome: .init(.repeatUnconditional, .untouched(.status))),
    .init(
      name: "304, row gone, repeated", status: 304,
      situation: {
        $0.wasConditional = true
        $0.isRepeated = true
      }, outcome: .init(.protocolFailure, .untouched(.status))),
    .init(
      name: "304 unasked", status: 304, row: tagged, outcome: .init(.protocolFailure, .untouched(.status))),
    .init(
      name: "503 within stale-if-error", status: 503, row: tagged,
      outcome: .init(.fresh, .untouched(.status))),
    .init(
      name: "HEAD that agrees", status: 200, response: ["ETag": "\"a\""], method: .head, row: tagged,
      outcome: .init(.fresh, .freshenedByHead)),
    .init(
      name: "HEAD with another tag", status: 200, response: ["ETag": "\"b\""], method: .head, row: tagged,
      outcome: .init(.fresh, .invalidatedByHead)),
  ]

  @Test("The answer decides what is delivered and what becomes of the row", arguments: cases)
  func table(_ test: Case) throws {
    var situation = AnswerRule.Situation()
    test.situation(&situation)
    situation.method = test.method
    situation.isRead = test.isRead
    situation.row = test.row.map { Rule.row($0) }
    let decided = HTTPAnswer.decide(
      status: test.status, fields: test.response, situation: situation, now: Rule.noon + 10_000)
    #expect(decided == test.outcome)
  }
}
