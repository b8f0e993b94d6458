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
    var verdict: HTTPStoring.Storability
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
    .init(
      name: "412", status: 412, response: control("max-age=60"), request: ["If-Match": "\"1\""],
      verdict: .no(.status)),
    .init(
      name: "416", status: 416, response: control("max-age=60"), request: ["Range": "bytes=9-"],
      verdict: .no(.status)),
    .init(name: "101", status: 101, response: control("max-age=60"), verdict: .no(.status)),
    .init(name: "301 max-age", status: 301, response: control("max-age=60"), verdict: .forHTTPOnly),
    .init(
      name: "301 with Last-Modified", status: 301, response: ["Last-Modified": Rule.date(-1000)],
      verdict: .forHTTPOnly),
    .init(name: "301 with nothing", status: 301, verdict: .no(.notStorable)),
    .init(
      name: "302 with Last-Modified", status: 302, response: ["Last-Modified": Rule.date(-1000)],
      verdict: .no(.notStorable)),
    .init(
      name: "302 private with a tag", status: 302,
      response: ["Cache-Control": "private", "ETag": "\"a\""], verdict: .forHTTPOnly),
    .init(name: "302 private", status: 302, response: control("private"), verdict: .no(.notStorable)),
    .init(
      name: "302 public with Last-Modified", status: 302,
      response: ["Cache-Control": "public", "Last-Modified": Rule.date(-1000)], verdict: .forHTTPOnly),
    .init(
      name: "302 with a tag alone", status: 302, response: ["ETag": "\"a\""], verdict: .no(.notStorable)),
    .init(name: "302 max-age", status: 302, response: control("max-age=60"), verdict: .forHTTPOnly),
    .init(name: "404 max-age", status: 404, response: control("max-age=60"), verdict: .forHTTPOnly),
    .init(name: "404 with a tag", status: 404, response: ["ETag": "\"a\""], verdict: .forHTTPOnly),
    .init(
      name: "404 with Last-Modified, which gives it no lifetime", status: 404,
      response: ["Last-Modified": Rule.date()], verdict: .forHTTPOnly),
    .init(name: "404 with nothing", status: 404, verdict: .no(.notStorable)),
    .init(
      name: "404 max-age=0 and no validator", status: 404, response: control("max-age=0"),
      verdict: .no(.notStorable)),
    .init(
      name: "404 no-store", status: 404, response: control("max-age=60, no-store"), verdict: .no(.noStore)),
    .init(name: "410 max-age", status: 410, response: control("max-age=60"), verdict: .forHTTPOnly),
    .init(name: "403 max-age", status: 403, response: control("max-age=60"), verdict: .forHTTPOnly),
    .init(
      name: "403 with Last-Modified", status: 403, response: ["Last-Modified": Rule.date(-1000)],
      verdict: .no(.notStorable)),
    .init(name: "500 max-age", status: 500, response: control("max-age=60"), verdict: .forHTTPOnly),
    .init(name: "503 Expires", status: 503, response: ["Expires": Rule.date(60)], verdict: .forHTTPOnly),
    .init(name: "503 with nothing", status: 503, verdict: .no(.notStorable)),
    .init(name: "599 max-age", status: 599, response: control("max-age=60"), verdict: .forHTTPOnly),
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

  @Test("Only a 2xx makes a last good response") func onlyGood() {
    for status in 200...599 {
      let verdict = HTTPStoring.decide(
        method: .get, requestFields: [:], status: status, fields: Self.control("max-age=60"),
        receivedAt: Rule.noon)
      #expect((verdict == .good) == ((200..<300).contains(status) && status != 206))
    }
  }

  /// But for 304, which is no response of its own, and 206: the cache combines no parts.
  @Test("Statuses that RFC 9110 defines are understood") func understood() {
    let successes = [200, 201, 202, 203, 204, 205]
    let redirects = [300, 301, 302, 303, 305, 307, 308]
    let faults = Array(400...417) + [421, 422, 426, 500, 501, 502, 503, 504, 505]
    #expect((100..<600).filter { HTTPStoring.isUnderstood($0) } == successes + redirects + faults)
  }
}
