import PlatformFoundation
import Testing
import TestTurns

@testable import DataService
@testable import cachefetch

@Suite("Output: the JSON object of a delivery", .inTurn) struct DeliveryLineTests {
  private typealias Delivery = DeliveryPrinter.Delivery

  private func text(_ delivery: Delivery, body: DeliveryLine.Body = .none) -> String {
    var request = DataService.Request(URL(filePath: "/x"))
    request.method = .put
    let line = DeliveryLine(url: "http://u:p@a.example/x", request: request)
    return String(decoding: line.bytes(delivery, body: body), as: UTF8.self)
  }

  private static let common =
    #""url":"http://a.example/x","response_url":"http://a.example/y","method":"PUT","account":"alice","status":200,"#
  private static let times =
    #""stored_at":"1970-01-01T00:00:01.500Z","age_ms":5000,"stale":true,"elapsed_ms":120"#

  @Test func `a stored one has age and Cache-Status as they are now`() {
    #expect(
      text(.stored(Sample.response([], isStored: true)))
        == #"{"delivery":"stored","# + Self.common
        + #""fields":[["Content-Type","text/plain"],["Age","5"],["Cache-Status","cachefetch; hit; ttl=-5"]],"#
        + Self.times + "}\n")
  }

  @Test func `it says whether the fleet has it too, and why not`() {
    for (shared, members) in [
      (.yes, #","shared":true}"#), (.no(.isPrivate), #","shared":false,"shared_reason":"private"}"#),
    ] as [(DataService.Shared, String)] {
      let line = text(.fresh(Sample.response([]) { $0.sharing = shared }, .changed))
      #expect(line.hasSuffix(members + "\n"), "\(line)")
    }
  }

  @Test func `a fresh one says what became of it`() {
    let fields = #""fields":[["Content-Type","text/plain"]],"#
    #expect(
      text(.fresh(Sample.response([]), .changed)) == #"{"delivery":"fresh","# + Self.common + fields
        + Self.times + #","change":"changed","revalidated":false,"kept":true}"# + "\n")
    let left = Sample.response([]) {
      $0.kept = .no(.noStore)
      $0.wasValidated = true
    }
    #expect(
      text(.fresh(left, .new)).hasSuffix(
        #""change":"new","revalidated":true,"kept":false,"kept_reason":"noStore"}"# + "\n"))
  }

  @Test func `a failure has its status and its remedy where there are any`() {
    let error = DataServiceError(.status, "it answered 503", hint: "wait", status: 503)
    let begin = #"{"delivery":"failure","url":"http://a.example/x","method":"PUT","#
    #expect(
      text(.failure(error, lastKnown: nil)) == begin
        + #""status":503,"error":{"kind":"status","message":"it answered 503","hint":"wait"}}"# + "\n")
    #expect(
      text(.failure(DataServiceError(.offline, "no network"), lastKnown: nil)) == begin
        + #""error":{"kind":"offline","message":"no network"}}"# + "\n")
  }

  @Test(
    "A body is text, base64 or left out",
    arguments: [
      ("text", .bytes(Array("é".utf8)), #""body":"é","body_bytes":2,"#),
      ("other bytes", .bytes([0xFF]), #""body_base64":"/w==","body_bytes":1,"#),
      ("elsewhere", .omitted(7), #""body_omitted":true,"body_bytes":7,"#),
      ("elsewhere, of unknown length", .omitted(nil), #""body_omitted":true,"stored_at""#),
      ("none", .none, #"]],"stored_at""#),
    ] as [(String, DeliveryLine.Body, String)])
  func body(name: String, body: DeliveryLine.Body, part: String) {
    let line = text(.fresh(Sample.response([]), .new), body: body)
    #expect(line.contains(part), "\(name): \(line)")
  }

  @Test func `what is asked for by a key of its own is named by it`() {
    let line = DeliveryLine(key: "k", request: DataService.Request(URL(filePath: "/x")))
    #expect(line.url == "key:k" && line.method == "GET")
  }

  @Test func `durations and instants are in whole milliseconds`() {
    #expect(Duration.microseconds(1_234_999).milliseconds == 1_234)
    #expect(Timestamp.text(milliseconds: 1_763_690_828_123) == "2025-11-21T02:07:08.123Z")
    #expect(Timestamp.text(milliseconds: 1_763_690_828_009) == "2025-11-21T02:07:08.009Z")
    #expect(Timestamp.text(milliseconds: -1) == "1969-12-31T23:59:59.999Z")
  }
}
