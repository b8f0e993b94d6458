import CacheStore
import DataService
import Testing
import TestTurns

@Suite("What an answer does under http, RFC 9111 section 4.3", .inTurn) struct HTTPAnswerTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var status: Int
    var response: HTTPFields = [:]
    var method: RequestMethod = .get
    var request: HTTPFields = [:]
    var row: HTTPFields?
    var rowStatus = 200
    var isRead = false
    var wasConditional = false
    var isRepeated = false
    var isNoStoreChain = false
    var outcome: AnswerRule.Decision
    var testDescription: String { name }
  }

  static let tagged: HTTPFields = ["ETag": "\"a\"", "Cache-Control": "max-age=5, stale-if-error=60"]
  static let noStore: HTTPFields = ["Cache-Control": "no-store"]

  static let cases: [Case] = [
    .init(
      name: "304", status: 304, row: tagged, wasConditional: true,
      outcome: .init(.freshByValidation, .freshened)),
    .init(
      name: "304 with no-store", status: 304, response: noStore, row: tagged, wasConditional: true,
      outcome: .init(.freshByValidation, .untouched(.noStore))),
    .init(
      name: "304 to a no-store request", status: 304, request: noStore, row: tagged, wasConditional: true,
      outcome: .init(.freshByValidation, .untouched(.noStore))),
    .init(
      name: "304 behind a no-store redirect", status: 304, row: tagged, wasConditional: true,
      isNoStoreChain: true, outcome: .init(.freshByValidation, .untouched(.noStore))),
    .init(
      name: "304 with Vary: *", status: 304, response: ["Vary": "*"], row: tagged, wasConditional: true,
      outcome: .init(.freshByValidation, .untouched(.vary))),
    .init(
      name: "HEAD with Vary: *", status: 200, response: ["Vary": "*"], method: .head, row: tagged,
      outcome: .init(.fresh, .untouched(.vary))),
    .init(
      name: "304 with another tag", status: 304, response: ["ETag": "\"b\""], row: tagged,
      wasConditional: true, outcome: .init(.repeatUnconditional, .untouched(.status))),
    .init(
      name: "the same, repeated", status: 304, response: ["ETag": "\"b\""], row: tagged, wasConditional: true,
      isRepeated: true, outcome: .init(.protocolFailure, .untouched(.status))),
    .init(
      name: "304, row gone", status: 304, wasConditional: true,
      outcome: .init(.repeatUnconditional, .untouched(.status))),
    .init(name: "304 unasked", status: 304, outcome: .init(.protocolFailure, .untouched(.status))),
    .init(
      name: "304 to the caller's condition", status: 304, request: ["If-None-Match": "\"x\""],
      outcome: .init(.fresh, .untouched(.status))),
    .init(name: "206 unasked", status: 206, outcome: .init(.protocolFailure, .untouched(.status))),
    .init(
      name: "206 to the caller's Range", status: 206, request: ["Range": "bytes=0-1"],
      outcome: .init(.fresh, .untouched(.status))),
    .init(name: "200", status: 200, row: tagged, wasConditional: true, outcome: .init(.fresh, .replaced)),
    .init(
      name: "404 max-age", status: 404, response: ["Cache-Control": "max-age=9"], row: tagged,
      wasConditional: true, outcome: .init(.fresh, .keptForHTTPOnly)),
    .init(
      name: "503 within stale-if-error", status: 503, row: tagged, wasConditional: true,
      outcome: .init(.fresh, .untouched(.status))),
    .init(
      name: "500 within stale-if-error", status: 500, row: tagged, wasConditional: true,
      outcome: .init(.fresh, .untouched(.status))),
    .init(name: "503 with nothing stored", status: 503, outcome: .init(.fresh, .untouched(.notStorable))),
    .init(
      name: "503 without stale-if-error", status: 503, row: ["Cache-Control": "max-age=5"],
      outcome: .init(.fresh, .untouched(.notStorable))),
    .init(name: "429", status: 429, row: tagged, outcome: .init(.fresh, .untouched(.notStorable))),
    .init(
      name: "HEAD that agrees", status: 200, response: ["ETag": "\"a\""], method: .head, row: tagged,
      outcome: .init(.fresh, .freshenedByHead)),
    .init(
      name: "HEAD without validators", status: 200, method: .head, row: tagged,
      outcome: .init(.fresh, .freshenedByHead)),
    .init(
      name: "HEAD with another tag", status: 200, response: ["ETag": "\"b\""], method: .head, row: tagged,
      outcome: .init(.fresh, .invalidatedByHead)),
    .init(
      name: "HEAD with another length", status: 200, response: ["Content-Length": "5"], method: .head,
      row: tagged, outcome: .init(.fresh, .invalidatedByHead)),
    .init(
      name: "HEAD with the stored length", status: 200, response: ["Content-Length": "4"], method: .head,
      row: tagged, outcome: .init(.fresh, .freshenedByHead)),
    .init(
      name: "HEAD with no-store", status: 200, response: noStore, method: .head, row: tagged,
      outcome: .init(.fresh, .untouched(.noStore))),
    .init(
      name: "HEAD, no-store request", status: 200, method: .head, request: noStore, row: tagged,
      outcome: .init(.fresh, .untouched(.noStore))),
    .init(
      name: "HEAD behind a no-store redirect", status: 200, method: .head, row: tagged, isNoStoreChain: true,
      outcome: .init(.fresh, .untouched(.noStore))),
    .init(
      name: "HEAD with nothing stored", status: 200, method: .head,
      outcome: .init(.fresh, .untouched(.method))),
    .init(
      name: "HEAD 404", status: 404, method: .head, row: tagged, outcome: .init(.fresh, .untouched(.method))),
    .init(
      name: "HEAD 199", status: 199, method: .head, row: tagged, outcome: .init(.fresh, .untouched(.method))),
    .init(
      name: "HEAD 201", status: 201, method: .head, row: tagged, outcome: .init(.fresh, .untouched(.method))),
    .init(
      name: "HEAD, the row is a 404", status: 200, method: .head, row: tagged, rowStatus: 404,
      outcome: .init(.fresh, .untouched(.method))),
    .init(
      name: "HEAD 503 within stale-if-error", status: 503, method: .head, row: tagged,
      outcome: .init(.fresh, .untouched(.status))),
    .init(name: "POST", status: 200, method: .post, outcome: .init(.fresh, .untouched(.method))),
    .init(
      name: "POST marked as a read", status: 200, method: .post, isRead: true,
      outcome: .init(.fresh, .replaced)),
    .init(
      name: "200 behind a no-store redirect", status: 200, isNoStoreChain: true,
      outcome: .init(.fresh, .untouched(.noStore))),
    .init(
      name: "200 to a no-store request", status: 200, request: noStore,
      outcome: .init(.fresh, .untouched(.noStore))),
    .init(
      name: "503 whose time is over", status: 503, row: ["Cache-Control": "max-age=5, stale-if-error=4"],
      outcome: .init(.fresh, .untouched(.notStorable))),
    .init(
      name: "503 to a request that rules it out", status: 503, request: ["Cache-Control": "max-age=60"],
      row: tagged, outcome: .init(.fresh, .untouched(.notStorable))),
    .init(
      name: "304 with no-store for a status that is understood", status: 304,
      response: ["Cache-Control": "no-store, must-understand"], row: tagged, wasConditional: true,
      outcome: .init(.freshByValidation, .freshened)),
    .init(
      name: "304 with no-store for one that is not", status: 304,
      response: ["Cache-Control": "no-store, must-understand"], row: tagged, rowStatus: 299,
      wasConditional: true, outcome: .init(.freshByValidation, .untouched(.noStore))),
    .init(
      name: "304, row gone, repeated", status: 304, wasConditional: true, isRepeated: true,
      outcome: .init(.protocolFailure, .untouched(.status))),
    .init(
      name: "304 to both conditions", status: 304, request: ["If-None-Match": "\"x\""], row: tagged,
      wasConditional: true, outcome: .init(.freshByValidation, .freshened)),
    .init(
      name: "206 to a condition alone", status: 206, request: ["If-None-Match": "\"x\""],
      outcome: .init(.protocolFailure, .untouched(.status))),
    .init(
      name: "HEAD 304", status: 304, method: .head, row: tagged, wasConditional: true,
      outcome: .init(.freshByValidation, .freshened)),
  ]

  @Test("The answer decides what is delivered and what is written", arguments: cases)
  func table(_ test: Case) {
    var situation = AnswerRule.Situation()
    situation.method = test.method
    situation.requestFields = test.request
    situation.row = test.row.map { Rule.row(status: test.rowStatus, $0) }
    situation.isRead = test.isRead
    situation.wasConditional = test.wasConditional
    situation.isRepeated = test.isRepeated
    situation.isNoStoreChain = test.isNoStoreChain
    let outcome = HTTPAnswer.decide(
      status: test.status, fields: test.response, situation: situation, now: Rule.noon + 10_000)
    #expect(outcome == test.outcome)
  }

  @Test("HEAD speaks of the stored response where validators and length are the same") func headAgrees() {
    let row = Rule.row(["ETag": "\"a\"", "Last-Modified": Rule.date(), "Content-Length": "7"])
    #expect(HeadUpdate.agrees(stored: row, answer: ["Content-Length": "7", "Last-Modified": Rule.date()]))
    #expect(!HeadUpdate.agrees(stored: row, answer: ["Content-Length": "4"]))
    #expect(!HeadUpdate.agrees(stored: row, answer: ["Last-Modified": Rule.date(1)]))
    #expect(!HeadUpdate.agrees(stored: row, answer: ["ETag": "\"b\"", "Last-Modified": Rule.date()]))
    #expect(HeadUpdate.agrees(stored: row, answer: [:]))
    // Decoded where it was stored, and of its own length.
    #expect(HeadUpdate.agrees(stored: row, answer: ["Content-Length": "4", "Content-Encoding": "gzip"]))
    let bare = Rule.row()
    #expect(!HeadUpdate.agrees(stored: bare, answer: ["ETag": "\"a\""]))
    #expect(!HeadUpdate.agrees(stored: bare, answer: ["Last-Modified": Rule.date()]))
    #expect(HeadUpdate.agrees(stored: bare, answer: ["Content-Length": "4"]))
    var imported = row
    imported.head.started = .imported
    #expect(!HeadUpdate.agrees(stored: imported, answer: [:]))
  }

  @Test("A refresh replaces the caller's conditions by the row's validators and keeps the rest")
  func exchangeFields() {
    let row = Rule.row(["ETag": "\"a\"", "Last-Modified": Rule.date(-60)])
    let caller: HTTPFields = [
      "X": "1", "If-None-Match": "\"c\"", "If-Modified-Since": Rule.date(-9), "Range": "bytes=0-1",
      "If-Range": "\"a\"",
    ]
    let conditions = Validators.conditionalFields(for: row)
    let validating = HTTPExchangeFields.fields(caller: caller, conditions: conditions)
    #expect(validating.values(of: "If-None-Match") == ["\"a\""])
    #expect(validating.values(of: "If-Modified-Since") == [Rule.date(-60)])
    #expect(validating["Range"] == "bytes=0-1" && validating["If-Range"] == "\"a\"" && validating["X"] == "1")
    let forStore = HTTPExchangeFields.fields(caller: caller, conditions: [:], isForStore: true)
    #expect(forStore == ["X": "1"])
    #expect(HTTPExchangeFields.fields(caller: caller, conditions: [:]) == caller)
  }
}
