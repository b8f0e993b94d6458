import CacheStore
import DataService
import Testing
import TestTurns

@Suite("Storing under http, RFC 9111 section 3", .inTurn) struct HTTPStoringTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var status = 200
    var response: HTTPFields = [:]
    var method: RequestMethod = .get
    var request: HTTPFields = [:]
    var verdict: HTTPStoring.Verdict
    var testDescription: String { name }
  }

  static func control(_ value: String) -> HTTPFields { ["Cache-Control": value] }

  static let cases: [Case] = [
    .init(name: "200 with nothing", verdict: .good),
    .init(name: "200 max-age", response: control("max-age=60"), verdict: .good),
    .init(name: "200 stale on arrival", response: control("max-age=0"), verdict: .good),
    .init(name: "200 no-cache", response: control("no-cache"), verdict: .good),
    .init(name: "200 private", response: control("private"), verdict: .good),
    .init(name: "200 private for a field", response: control("private=\"X\""), verdict: .good),
    .init(name: "200 no-store", response: control("no-store"), verdict: .no(.noStore)),
    .init(
      name: "200 no-store with everything else", response: control("public, max-age=60, no-store"),
      verdict: .no(.noStore)),
    .init(
      name: "200 to a no-store request", response: control("max-age=60"), request: control("no-store"),
      verdict: .no(.noStore)),
    .init(
      name: "200 to Authorization", response: control("max-age=60"), request: ["Authorization": "Basic x"],
      verdict: .good),
    .init(
      name: "200 to Range", response: control("max-age=60"), request: ["Range": "bytes=0-1"], verdict: .good),
    .init(name: "200 to POST", response: control("max-age=60"), method: .post, verdict: .no(.method)),
    .init(name: "200 to HEAD", response: control("max-age=60"), method: .head, verdict: .no(.method)),
    .init(name: "200 Vary: *", response: ["Cache-Control": "max-age=60", "Vary": "*"], verdict: .no(.vary)),
    .init(name: "200 must-understand", response: control("max-age=60, must-understand"), verdict: .good),
    .init(
      name: "200 must-understand and no-store", response: control("max-age=60, must-understand, no-store"),
      verdict: .good),
    .init(
      name: "299 must-understand", status: 299, response: control("max-age=60, must-understand"),
      verdict: .no(.status)),
    .init(
      name: "299 must-understand and no-store", status: 299,
      response: control("max-age=60, must-understand, no-store"), verdict: .no(.noStore)),
    .init(
      name: "must-understand on a no-store request", response: control("must-understand"),
      request: control("no-store"), verdict: .no(.noStore)),
    .init(name: "299 max-age", status: 299, response: control("max-age=60"), verdict: .good),
    .init(name: "201 with nothing", status: 201, verdict: .no(.notStorable)),
    .init(name: "201 private", status: 201, response: control("private"), verdict: .good),
    .init(name: "201 private for a field", status: 201, response: control("private=\"X\""), verdict: .good),
    .init(name: "201 public", status: 201, response: control("public"), verdict: .good),
    .init(
      name: "201 no-cache permits nothing", status: 201, response: control("no-cache"),
      verdict: .no(.notStorable)),
    .init(name: "201 max-age", status: 201, response: control("max-age=60"), verdict: .good),
    .init(name: "202 Expires", status: 202, response: ["Expires": Rule.date(60)], verdict: .good),
    .init(
      name: "202 s-maxage is for shared caches", status: 202, response: control("s-maxage=60"),
      verdict: .no(.notStorable)),
    .init(name: "204 with nothing", status: 204, verdict: .good),
    .init(
      name: "206", status: 206, response: control("max-age=60"), request: ["Range": "bytes=0-1"],
      verdict: .no(.status)),
    .init(name: "304", status: 304, response: control("max-age=60"), verdict: .no(.status)),
    .init(name: "101", status: 101, response: control("max-age=60"), verdict: .no(.status)),
    .init(name: "301 max-age", status: 301, response: control("max-age=60"), verdict: .beside),
    .init(
      name: "301 with Last-Modified", status: 301, response: ["Last-Modified": Rule.date(-1000)],
      verdict: .beside),
    .init(name: "301 with nothing", status: 301, verdict: .no(.notStorable)),
    .init(
      name: "302 with Last-Modified", status: 302, response: ["Last-Modified": Rule.date(-1000)],
      verdict: .no(.notStorable)),
    .init(
      name: "302 private with a tag", status: 302,
      response: ["Cache-Control": "private", "ETag": "\"a\""], verdict: .beside),
    .init(name: "302 private", status: 302, response: control("private"), verdict: .no(.notStorable)),
    .init(
      name: "302 public with Last-Modified", status: 302,
      response: ["Cache-Control": "public", "Last-Modified": Rule.date(-1000)], verdict: .beside),
    .init(
      name: "302 with a tag alone", status: 302, response: ["ETag": "\"a\""], verdict: .no(.notStorable)),
    .init(name: "302 max-age", status: 302, response: control("max-age=60"), verdict: .beside),
    .init(name: "404 max-age", status: 404, response: control("max-age=60"), verdict: .beside),
    .init(name: "404 with a tag", status: 404, response: ["ETag": "\"a\""], verdict: .beside),
    .init(name: "404 with nothing", status: 404, verdict: .no(.notStorable)),
    .init(
      name: "404 max-age=0 and no validator", status: 404, response: control("max-age=0"),
      verdict: .no(.notStorable)),
    .init(
      name: "404 no-store", status: 404, response: control("max-age=60, no-store"), verdict: .no(.noStore)),
    .init(name: "410 max-age", status: 410, response: control("max-age=60"), verdict: .beside),
    .init(name: "403 max-age", status: 403, response: control("max-age=60"), verdict: .beside),
    .init(
      name: "403 with Last-Modified", status: 403, response: ["Last-Modified": Rule.date(-1000)],
      verdict: .no(.notStorable)),
    .init(name: "500 max-age", status: 500, response: control("max-age=60"), verdict: .beside),
    .init(name: "503 Expires", status: 503, response: ["Expires": Rule.date(60)], verdict: .beside),
    .init(name: "503 with nothing", status: 503, verdict: .no(.notStorable)),
    .init(name: "599 max-age", status: 599, response: control("max-age=60"), verdict: .beside),
  ]

  @Test("Which responses are stored, and as what", arguments: cases) func table(_ test: Case) {
    let verdict = HTTPStoring.decide(
      method: test.method, requestFields: test.request, status: test.status, fields: test.response,
      receivedAt: Rule.noon)
    #expect(verdict == test.verdict)
  }

  @Test("A POST marked as a read is stored as GET is") func read() {
    let verdict = HTTPStoring.decide(
      method: .post, requestFields: [:], isRead: true, status: 200, fields: [:], receivedAt: Rule.noon)
    #expect(verdict == .good)
  }

  @Test("no-store on the request or on a redirect forbids storing any of it") func noStoreNeverWrites() {
    for test in Self.cases {
      for isChain in [true, false] {
        var request = test.request
        if !isChain { request.append("Cache-Control", "no-store") }
        let verdict = HTTPStoring.decide(
          method: test.method, requestFields: request, status: test.status, fields: test.response,
          receivedAt: Rule.noon, isNoStoreChain: isChain)
        if case .no = verdict { continue }
        Issue.record("\(test.name) is stored")
      }
    }
  }

  @Test("no-store on the response forbids storing it, unless must-understand lifts that")
  func responseNoStore() {
    for test in Self.cases where !CacheControl(fields: test.response).mustUnderstand {
      var response = test.response
      response.append("Cache-Control", "No-Store")
      let verdict = HTTPStoring.decide(
        method: test.method, requestFields: test.request, status: test.status, fields: response,
        receivedAt: Rule.noon)
      if case .no = verdict { continue }
      Issue.record("\(test.name) is stored")
    }
  }

  @Test("Only a 2xx makes a good row") func onlyGood() {
    for status in 200...599 {
      let verdict = HTTPStoring.decide(
        method: .get, requestFields: [:], status: status, fields: Self.control("max-age=60"),
        receivedAt: Rule.noon)
      #expect((verdict == .good) == ((200..<300).contains(status) && status != 206))
    }
  }

  @Test(
    "Statuses that RFC 9110 defines are understood",
    arguments: [
      (200, true), (301, true), (404, true), (503, true), (299, false), (306, false), (418, false),
      (599, false),
    ])
  func understood(status: Int, isUnderstood: Bool) {
    #expect(HTTPStoring.isUnderstood(status) == isUnderstood)
  }
}

@Suite("What an answer does under http, RFC 9111 section 4.3", .inTurn) struct HTTPAnswerTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var status: Int
    var response: HTTPFields = [:]
    var method: RequestMethod = .get
    var request: HTTPFields = [:]
    var row: HTTPFields?
    var wasConditional = false
    var isRepeated = false
    var isNoStoreChain = false
    var outcome: HTTPAnswer.Outcome
    var testDescription: String { name }
  }

  static let tagged: HTTPFields = ["ETag": "\"a\"", "Cache-Control": "max-age=5, stale-if-error=60"]
  static let noStore: HTTPFields = ["Cache-Control": "no-store"]

  static let cases: [Case] = [
    .init(name: "304", status: 304, row: tagged, wasConditional: true, outcome: .freshen(isWritten: true)),
    .init(
      name: "304 with no-store", status: 304, response: noStore, row: tagged, wasConditional: true,
      outcome: .freshen(isWritten: false)),
    .init(
      name: "304 to a no-store request", status: 304, request: noStore, row: tagged, wasConditional: true,
      outcome: .freshen(isWritten: false)),
    .init(
      name: "304 behind a no-store redirect", status: 304, row: tagged, wasConditional: true,
      isNoStoreChain: true, outcome: .freshen(isWritten: false)),
    .init(
      name: "304 with another tag", status: 304, response: ["ETag": "\"b\""], row: tagged,
      wasConditional: true, outcome: .repeatUnconditional),
    .init(
      name: "the same, repeated", status: 304, response: ["ETag": "\"b\""], row: tagged, wasConditional: true,
      isRepeated: true, outcome: .protocolFailure),
    .init(name: "304, row gone", status: 304, wasConditional: true, outcome: .repeatUnconditional),
    .init(name: "304 unasked", status: 304, outcome: .protocolFailure),
    .init(
      name: "304 to the caller's condition", status: 304, request: ["If-None-Match": "\"x\""],
      outcome: .deliver(.no(.status))),
    .init(name: "206 unasked", status: 206, outcome: .protocolFailure),
    .init(
      name: "206 to the caller's Range", status: 206, request: ["Range": "bytes=0-1"],
      outcome: .deliver(.no(.status))),
    .init(name: "200", status: 200, row: tagged, wasConditional: true, outcome: .deliver(.good)),
    .init(
      name: "404 max-age", status: 404, response: ["Cache-Control": "max-age=9"], row: tagged,
      wasConditional: true, outcome: .deliver(.beside)),
    .init(
      name: "503 within stale-if-error", status: 503, row: tagged, wasConditional: true, outcome: .serveStale),
    .init(name: "503 with nothing stored", status: 503, outcome: .deliver(.no(.notStorable))),
    .init(
      name: "503 without stale-if-error", status: 503, row: ["Cache-Control": "max-age=5"],
      outcome: .deliver(.no(.notStorable))),
    .init(name: "429", status: 429, row: tagged, outcome: .deliver(.no(.notStorable))),
    .init(
      name: "HEAD that agrees", status: 200, response: ["ETag": "\"a\""], method: .head, row: tagged,
      outcome: .deliverAndFreshen),
    .init(
      name: "HEAD without validators", status: 200, method: .head, row: tagged, outcome: .deliverAndFreshen),
    .init(
      name: "HEAD with another tag", status: 200, response: ["ETag": "\"b\""], method: .head, row: tagged,
      outcome: .deliverAndInvalidate),
    .init(
      name: "HEAD with another length", status: 200, response: ["Content-Length": "5"], method: .head,
      row: tagged, outcome: .deliverAndInvalidate),
    .init(
      name: "HEAD with the stored length", status: 200, response: ["Content-Length": "4"], method: .head,
      row: tagged, outcome: .deliverAndFreshen),
    .init(
      name: "HEAD with no-store", status: 200, response: noStore, method: .head, row: tagged,
      outcome: .deliver(.no(.noStore))),
    .init(
      name: "HEAD, no-store request", status: 200, method: .head, request: noStore, row: tagged,
      outcome: .deliver(.no(.noStore))),
    .init(
      name: "HEAD behind a no-store redirect", status: 200, method: .head, row: tagged, isNoStoreChain: true,
      outcome: .deliver(.no(.noStore))),
    .init(name: "HEAD with nothing stored", status: 200, method: .head, outcome: .deliver(.no(.method))),
    .init(name: "HEAD 404", status: 404, method: .head, row: tagged, outcome: .deliver(.no(.method))),
    .init(
      name: "HEAD 304", status: 304, method: .head, row: tagged, wasConditional: true,
      outcome: .freshen(isWritten: true)),
  ]

  @Test("Delivered and written", arguments: cases) func table(_ test: Case) {
    var situation = HTTPAnswer.Situation(method: test.method, requestFields: test.request)
    situation.row = test.row.map { Rule.row($0) }
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
