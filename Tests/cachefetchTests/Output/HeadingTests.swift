import CacheStore
import DataService
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: the line that introduces a delivery", .inTurn) struct HeadingTests {
  private typealias Delivery = DeliveryPrinter.Delivery

  private func stored(_ change: (inout DataService.ResponseHead) -> Void = { _ in }) -> Delivery {
    .stored(Sample.response([1], isStored: true, change))
  }

  @Test func `a stored one has its age, its size, and whether a lifetime that the server gave has passed`() {
    #expect(Heading().line(stored()) == "stored   200 OK · 5 seconds ago · 1 B\n")
    #expect(Heading().line(stored { $0.bodyLength = nil }) == "stored   200 OK · 5 seconds ago\n")
    for fields in [["Cache-Control": "max-age=1"], ["Expires": "0"]] as [HTTPFields] {
      #expect(
        Heading().line(stored { $0.fields = fields }) == "stored   200 OK · 5 seconds ago · 1 B · stale\n")
    }
    #expect(
      !Heading().line(stored { $0.fields = ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"] }).contains(
        "stale"))
    #expect(Heading(hasColour: true).line(stored()).hasPrefix("\u{1B}[1;33mstored  \u{1B}[0m 200 OK"))
  }

  @Test func `a fresh one has its time, its size unless it is unchanged, and whether it was kept`() {
    let response = Sample.response([1])
    #expect(Heading().line(.fresh(response, .new)) == "fresh    200 OK · in 120 ms · 1 B · new\n")
    #expect(Heading().line(.fresh(response, .unchanged)) == "fresh    200 OK · in 120 ms · unchanged\n")
    let left = Sample.response([1]) { $0.kept = .no(.noStore) }
    #expect(Heading().line(.fresh(left, .new)).hasSuffix(" · new · not kept: no-store\n"))
  }

  @Test(arguments: [(200, "32"), (399, "32"), (400, "31"), (503, "31")])
  func `an error's status is red`(status: Int, colour: String) {
    let response = Sample.response([1]) { $0.status = status }
    #expect(Heading(hasColour: true).line(.fresh(response, .new)).hasPrefix("\u{1B}[1;\(colour)mfresh   "))
  }

  @Test func `a failure is never cut, and says how old the stored one is`() {
    let error = DataServiceError(.offline, "there is no network", hint: "see to it")
    let known = Sample.response([1], isStored: true)
    #expect(
      Heading().line(Delivery.failure(error, lastKnown: known))
        == "failure  there is no network · see to it · the stored response is from 5 seconds\n         ago\n")
    #expect(
      Heading(hasColour: true).line(Delivery.failure(error, lastKnown: nil))
        == "\u{1B}[1;31mfailure \u{1B}[0m there is no network · see to it\n")
  }

  @Test func `others are cut at the width, of which nine columns are the kind's`() {
    let whole = "200 OK · 5 seconds ago · 1 B"
    #expect(Heading(width: 43).line(stored()) == "stored   \(whole)\n")
    #expect(Heading(width: 9 + whole.count).line(stored()) == "stored   \(whole)\n")
    #expect(Heading(width: 8 + whole.count).line(stored()) == "stored   \(whole.dropLast(2))…\n")
    #expect(Heading(width: 5).line(stored()) == "stored   200 OK · …\n")
  }

  @Test func `a URL stands behind it where there is room, else below, its end at least`() {
    let url = "http://a.example/one"
    let whole = "200 OK · 5 seconds ago · 1 B"
    let room = 9 + whole.count + 3 + url.count
    #expect(Heading(url: url, width: room).line(stored()) == "stored   \(whole) · \(url)\n")
    #expect(Heading(url: url, width: room - 1).line(stored()) == "stored   \(whole)\n         \(url)\n")
    #expect(Heading(url: url, width: 19).line(stored()).hasSuffix("\n         …ample/one\n"))
    let lines = Heading(url: "http://a.example/x/one.json", width: 40).line(
      Delivery.failure(DataServiceError(.offline, "there is no network"), lastKnown: nil))
    #expect(lines == "failure  there is no network\n         http://a.example/x/one.json\n")
    #expect(Heading(url: "a\u{9B}").line(stored()).hasSuffix(" · a<U+009B>\n"))
  }

  @Test func `a failure of two lines has its URL on a third`() {
    let error = DataServiceError(.offline, "there is no network here")
    #expect(
      Heading(url: "u", width: 25).line(Delivery.failure(error, lastKnown: nil))
        == "failure  there is no\n         network here\n         u\n")
  }
}
