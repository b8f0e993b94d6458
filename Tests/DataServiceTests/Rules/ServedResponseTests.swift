import CacheStore
import DataService
import Testing
import TestTurns

@Suite("Byte ranges, RFC 9110 section 14", .inTurn) struct ByteRangeTests {
  @Test(
    "One range of bytes is cut to the body",
    arguments: [
      ("bytes=0-1", .part(0..<2)), ("bytes=0-0", .part(0..<1)), ("bytes=1-", .part(1..<11)),
      ("bytes=-1", .part(10..<11)),
      ("bytes=-99", .part(0..<11)), ("bytes=5-99", .part(5..<11)), ("bytes=10-10", .part(10..<11)),
      ("BYTES=0-1", .part(0..<2)), ("bytes= 0-1 ", .part(0..<2)),
      ("bytes=0-99999999999999999999", .part(0..<11)),
      ("bytes=11-", .unsatisfiable), ("bytes=11-12", .unsatisfiable), ("bytes=-0", .unsatisfiable),
      ("bytes=99999999999999999999-", .unsatisfiable),
      ("bytes=", .whole), ("bytes", .whole), ("", .whole), ("bytes=a-b", .whole), ("bytes=2-1", .whole),
      ("bytes=-", .whole), ("bytes=1", .whole), ("bytes=0-1,3-4", .whole), ("items=0-1", .whole),
      ("bytes=0--1", .whole),
      ("bytes=+1-2", .whole), ("bytes=0 - 1", .whole), ("bytes=1-2-3", .whole),
    ] as [(String, ByteRange.Answer)])
  func answer(value: String, expected: ByteRange.Answer) {
    #expect(ByteRange.answer(to: value, length: 11) == expected)
  }

  @Test("No byte of an empty body can be had", arguments: ["bytes=0-", "bytes=0-0", "bytes=-1"])
  func empty(value: String) {
    #expect(ByteRange.answer(to: value, length: 0) == .unsatisfiable)
  }

  @Test("Content-Range names the first byte, the last and the length") func contentRange() {
    #expect(ByteRange.contentRange(2..<5, length: 11) == "bytes 2-4/11")
  }
}

@Suite("The caller's preconditions, RFC 9111 section 4.3.2", .inTurn) struct PreconditionTests {
  static let modified = Rule.date(-3000)
  static let cases: [(name: String, stored: HTTPFields, asked: HTTPFields, isNotModified: Bool)] = [
    ("no precondition", ["ETag": "\"a\""], [:], false),
    ("the stored tag", ["ETag": "\"a\""], ["If-None-Match": "\"a\""], true),
    ("another tag", ["ETag": "\"a\""], ["If-None-Match": "\"b\""], false),
    ("first of several", ["ETag": "\"a\""], ["If-None-Match": "\"a\", \"b\", \"c\""], true),
    ("second of several", ["ETag": "\"a\""], ["If-None-Match": "\"b\", \"a\", \"c\""], true),
    ("last of several", ["ETag": "\"a\""], ["If-None-Match": "\"b\", \"c\", \"a\""], true),
    ("in a second line", ["ETag": "\"a\""], ["If-None-Match": "\"b\"", "if-none-match": "\"a\""], true),
    ("none of several", ["ETag": "\"a\""], ["If-None-Match": "\"b\", \"c\""], false),
    ("weak against weak", ["ETag": "W/\"a\""], ["If-None-Match": "W/\"a\""], true),
    ("weak against strong", ["ETag": "\"a\""], ["If-None-Match": "W/\"a\""], true),
    ("a comma in the tag", ["ETag": "\"a,b\""], ["If-None-Match": "\"a,b\""], true),
    ("obs-text in the tag", ["ETag": "\"ü\""], ["If-None-Match": "\"ü\""], true),
    ("asterisk", ["ETag": "\"a\""], ["If-None-Match": "*"], true),
    ("asterisk without a stored tag", [:], ["If-None-Match": " * "], true),
    ("no stored tag", [:], ["If-None-Match": "\"a\""], false),
    (
      "tag before date: equal", ["ETag": "\"a\"", "Last-Modified": Rule.date()],
      ["If-None-Match": "\"a\"", "If-Modified-Since": Rule.date(-1)], true
    ),
    (
      "tag before date: other", ["ETag": "\"a\"", "Last-Modified": modified],
      ["If-None-Match": "\"b\"", "If-Modified-Since": Rule.date()], false
    ),
    ("the stored date", ["Last-Modified": modified], ["If-Modified-Since": modified], true),
    ("a later date", ["Last-Modified": modified], ["If-Modified-Since": Rule.date(-2000)], true),
    ("an earlier date", ["Last-Modified": modified], ["If-Modified-Since": Rule.date(-3001)], false),
    (
      "the stored date in another form", ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"],
      ["If-Modified-Since": "Sunday, 06-Nov-94 08:49:37 GMT"], true
    ),
    ("no date at all", ["Last-Modified": modified], ["If-Modified-Since": "x"], false),
    (
      "Date in place of Last-Modified: later", ["Date": Rule.date(-60)],
      ["If-Modified-Since": Rule.date(-59)], true
    ),
    (
      "Date in place of Last-Modified: earlier", ["Date": Rule.date(-60)],
      ["If-Modified-Since": Rule.date(-61)], false
    ),
    ("receipt in place of both: equal", [:], ["If-Modified-Since": Rule.date()], true),
    ("receipt in place of both: earlier", [:], ["If-Modified-Since": Rule.date(-1)], false),
  ]

  @Test("A precondition that holds is a 304", arguments: cases.indices) func table(index: Int) {
    let (name, stored, asked, isNotModified) = Self.cases[index]
    let row = Rule.row(stored)
    #expect(
      Precondition.isNotModified(requestFields: asked, stored: row) == isNotModified, Comment(rawValue: name))
    let served = ServedResponse(row, method: .get, requestFields: asked, now: Rule.noon)
    #expect((served.status == 304) == isNotModified, Comment(rawValue: name))
    #expect(served.body == (isNotModified ? 0..<0 : 0..<4), Comment(rawValue: name))
  }

  @Test("Only a 200 is judged by preconditions") func onlyOK() {
    let row = Rule.row(status: 404, ["ETag": "\"a\""])
    #expect(!Precondition.isNotModified(requestFields: ["If-None-Match": "\"a\""], stored: row))
  }

  static let ranges: [(name: String, stored: HTTPFields, condition: String?, allowed: Bool)] = [
    ("no If-Range", [:], nil, true),
    ("the stored strong tag", ["ETag": "\"a\""], "\"a\"", true),
    ("another tag", ["ETag": "\"a\""], "\"b\"", false),
    ("a weak tag", ["ETag": "W/\"a\""], "W/\"a\"", false),
    ("no stored tag", [:], "\"a\"", false),
    ("the stored date, strong", ["Last-Modified": modified, "Date": Rule.date()], modified, true),
    (
      "the stored date, made in the same second", ["Last-Modified": Rule.date(), "Date": Rule.date()],
      Rule.date(), false
    ),
    ("a later date", ["Last-Modified": modified, "Date": Rule.date()], Rule.date(-2000), false),
    ("no stored date", [:], modified, false),
    ("neither tag nor date", ["ETag": "\"a\""], "a", false),
  ]

  @Test("If-Range cuts only from the representation it names", arguments: ranges.indices) func ifRange(
    index: Int
  ) {
    let (name, stored, condition, allowed) = Self.ranges[index]
    var asked: HTTPFields = ["Range": "bytes=0-1"]
    if let condition { asked.append("If-Range", condition) }
    let served = ServedResponse(Rule.row(stored), method: .get, requestFields: asked, now: Rule.noon)
    #expect((served.status == 206) == allowed, Comment(rawValue: name))
  }
}

@Suite("Served responses, RFC 9111 section 4", .inTurn) struct ServedResponseTests {
  @Test("Age is what it is now, in whole seconds, in place of the received one") func age() {
    let row = Rule.row(["Age": "30", "X": "1"])
    let fields = ServedResponse.fields(of: row, now: Rule.noon + 2999)
    #expect(fields.values(of: "Age") == ["32"])
    #expect(fields["X"] == "1")
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
