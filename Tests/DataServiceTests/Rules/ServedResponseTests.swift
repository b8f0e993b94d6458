import CacheStore
import DataService
import Testing
import TestTurns

@Suite("Served responses, RFC 9111 section 4", .inTurn) struct ServedResponseTests {
  @Test("Age is what it is now, in whole seconds, in place of the received one") func age() {
    let row = Rule.row(["Age": "30", "X": "1"])
    let fields = ServedResponse.fields(of: row, now: Rule.noon + 2999)
    #expect(fields.values(of: "Age") == ["32"])
    #expect(fields["X"] == "1")
    #expect(ServedResponse.fields(of: Rule.row(), now: Rule.noon + 2_000_000)["Age"] == "2000")
  }

  @Test("Date is not touched") func date() {
    let row = Rule.row(["Date": Rule.date(-5)])
    #expect(ServedResponse.fields(of: row, now: Rule.noon + 60_000)["Date"] == Rule.date(-5))
  }

  @Test("Fields that no-cache names are left out until validated") func qualifiedNoCache() {
    let row = Rule.row(["Cache-Control": "max-age=60, no-cache=\"A, b\"", "A": "1", "B": "2", "C": "3"])
    let reused = ServedResponse.fields(of: row, now: Rule.noon)
    #expect(reused["A"] == nil && reused["B"] == nil && reused["C"] == "3")
    let validated = ServedResponse.fields(of: row, now: Rule.noon, isValidated: true)
    #expect(validated["A"] == "1" && validated["B"] == "2")
  }

  @Test("A 304 keeps validators and freshness and describes no body") func notModified() {
    let row = Rule.row([
      "ETag": "\"a\"", "Cache-Control": "max-age=60", "Date": Rule.date(), "Vary": "Foo",
      "Content-Location": "/x",
      "Expires": Rule.date(9), "Content-Length": "4", "Content-Type": "text/plain",
      "Content-Encoding": "gzip",
      "Content-Language": "en", "Content-Range": "x",
    ])
    let served = ServedResponse(row, method: .get, requestFields: ["If-None-Match": "\"a\""], now: Rule.noon)
    #expect(served.status == 304)
    #expect(served.reason == "Not Modified")
    let names = served.fields.all.map(\.name)
    #expect(names == ["ETag", "Cache-Control", "Date", "Vary", "Content-Location", "Expires", "Age"])
  }

  @Test("A range of a stored 200 is a 206 with its bytes") func range() {
    let row = Rule.row(["Content-Length": "11"], body: "01234567890")
    let served = ServedResponse(row, method: .get, requestFields: ["Range": "bytes=2-4"], now: Rule.noon)
    #expect(served.status == 206)
    #expect(served.reason == "Partial Content")
    #expect(served.body == 2..<5)
    #expect(served.fields["Content-Range"] == "bytes 2-4/11")
    #expect(served.fields.values(of: "Content-Length") == ["3"])
  }

  @Test("A range outside the body is a 416 that says how long it is") func unsatisfiable() {
    let row = Rule.row(body: "0123")
    let served = ServedResponse(row, method: .get, requestFields: ["Range": "bytes=4-"], now: Rule.noon)
    #expect(served.status == 416)
    #expect(served.reason == "Range Not Satisfiable" && served.fields["Content-Length"] == "0")
    #expect(served.fields["Content-Range"] == "bytes */4")
    #expect(served.body.isEmpty)
  }

  @Test("A range of anything but a 200 to GET is the whole") func ignoredRange() {
    let asked: HTTPFields = ["Range": "bytes=0-1"]
    let gone = ServedResponse(Rule.row(status: 410), method: .get, requestFields: asked, now: Rule.noon)
    #expect(gone.status == 410 && gone.body == 0..<4)
    let head = ServedResponse(Rule.row(), method: .head, requestFields: asked, now: Rule.noon)
    #expect(head.status == 200 && head.body.isEmpty)
    let read = ServedResponse(Rule.row(), method: .post, requestFields: asked, now: Rule.noon)
    #expect(read.status == 200 && read.body == 0..<4)
  }

  @Test("A range that is none, or not of bytes, is the whole", arguments: ["bytes=9-1", "items=0-1", ""])
  func unreadableRange(value: String) {
    let row = Rule.row(["Content-Length": "4"])
    let served = ServedResponse(row, method: .get, requestFields: ["Range": value], now: Rule.noon)
    #expect(served.status == 200 && served.body == 0..<4 && served.fields["Content-Range"] == nil)
    #expect(served.fields["Content-Length"] == "4")
  }

  @Test("Of a body that was decoded neither the coding nor the coded length is told, RFC 9110 section 8.4")
  func decoded() {
    var row = Rule.row(["Content-Encoding": "gzip", "Content-Length": "9", "ETag": "\"a\""])
    row.head.isDecoded = true
    for method in [RequestMethod.get, .head] {
      let served = ServedResponse(row, method: method, requestFields: [:], now: Rule.noon)
      #expect(served.fields["Content-Encoding"] == nil, "\(method.rawValue)")
      #expect(served.fields.values(of: "Content-Length") == ["4"], "\(method.rawValue)")
    }
    let part = ServedResponse(row, method: .get, requestFields: ["Range": "bytes=1-2"], now: Rule.noon)
    #expect(part.fields["Content-Encoding"] == nil && part.fields["Content-Length"] == "2")
    var unsaid = Rule.row(["Content-Encoding": "gzip"])
    unsaid.head.isDecoded = true
    let served = ServedResponse(unsaid, method: .get, requestFields: [:], now: Rule.noon)
    #expect(served.fields.all.map(\.name) == ["Age"])
    // What is coded stays so.
    let coded = Rule.row(["Content-Encoding": "gzip", "Content-Length": "4"])
    let asItCame = ServedResponse(coded, method: .get, requestFields: [:], now: Rule.noon)
    #expect(asItCame.fields["Content-Encoding"] == "gzip" && asItCame.fields["Content-Length"] == "4")
  }

  @Test("A 304 that has just confirmed the response permits what no-cache names") func validated() {
    let row = Rule.row(["Cache-Control": "no-cache=\"A\"", "A": "1"])
    for isValidated in [true, false] {
      let served = ServedResponse(
        row, method: .get, requestFields: [:], now: Rule.noon, isValidated: isValidated)
      #expect((served.fields["A"] == "1") == isValidated, "\(isValidated)")
    }
  }

  @Test("A precondition comes before a range") func precedence() {
    let row = Rule.row(["ETag": "\"a\""])
    let asked: HTTPFields = ["Range": "bytes=0-1", "If-None-Match": "\"a\""]
    #expect(ServedResponse(row, method: .get, requestFields: asked, now: Rule.noon).status == 304)
  }

  @Test("HEAD gets the stored head and no body") func head() {
    let row = Rule.row(["Content-Length": "4"])
    let served = ServedResponse(row, method: .head, requestFields: [:], now: Rule.noon)
    #expect(served.status == 200 && served.body.isEmpty && served.fields["Content-Length"] == "4")
  }
}
