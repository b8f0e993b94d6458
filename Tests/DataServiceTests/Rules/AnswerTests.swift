import CacheStore
import PlatformFoundation
import Testing
import TestTurns

@testable import DataService

@Suite("Answers", .inTurn) struct AnswerTests {
  static let stored: StoredResponse = {
    var row = Rule.row(status: 203, ["ETag": "\"a\"", "Age": "9", "X": "old"], body: "stored")
    row.head.version = "2"
    row.head.reason = "Kept"
    row.head.requestedAt = Rule.noon - 7
    row.head.url = "http://b.test/"
    return row
  }()

  @Test("A body is at hand where its first chunk is all of it") func body() {
    var body = Self.stored.body
    guard case .data(let data) = DeliveredBody(body) else {
      Issue.record("not at hand")
      return
    }
    #expect(data == Data("stored".utf8) && DeliveredBody(body).length == 6)
    for length in [5, 7] as [Int64] {
      body.length = length
      guard case .stored(let kept) = DeliveredBody(body) else {
        Issue.record("at hand")
        return
      }
      #expect(kept == body && DeliveredBody(body).length == length, "\(length)")
    }
  }

  @Test("A row that another exchange wrote is an answer with all that it has") func row() {
    let row = Self.stored
    let answer = Answer(row: row, comparedWith: nil)
    #expect(answer.head == row.head && answer.head.requestedAt == Rule.noon - 7)
    #expect(answer.interim.isEmpty && answer.redirects == 0 && answer.responder.isEmpty)
    #expect(!answer.wasValidated && answer.kept == .yes && answer.isGood)
    #expect(answer.comparison == nil && answer.retryAfter == nil && answer.body.length == 6)
  }

  @Test("The bytes are the same where neither the change nor the length is another") func comparison() {
    let row = Self.stored
    for (name, isSame, change) in [
      ("nothing", true, { _ in }), ("changed", false, { $0.changedAt -= 1 }),
      ("another length", false, { $0.body.length += 1 }), ("another body", true, { $0.body.id = 9 }),
      ("received", true, { $0.head.receivedAt -= 1 }),
    ] as [(String, Bool, (inout StoredResponse) -> Void)] {
      var previous = row
      change(&previous)
      let answer = Answer(row: row, comparedWith: previous)
      #expect(answer.comparison?.isSame == isSame, Comment(rawValue: name))
      #expect(answer.comparison?.body == previous.body, Comment(rawValue: name))
    }
  }

  @Test("A 304 has the stored status and body and the merged fields, RFC 9111 section 4.3.4")
  func validating() {
    var head = Rule.answer(
      ["X": "new", "X-Secret": "s", "Set-Cookie": "c"], status: 304, body: .data(Data()))
    head.head.version = "3"
    head.kept = .no(.noStore)
    let answer = head.validating(Self.stored, secretNames: ["x-secret"])
    #expect(answer.head.status == 203 && answer.head.reason == "Kept" && answer.head.version == "3")
    #expect(answer.head.fields == ["ETag": "\"a\"", "X": "new", "Date": Rule.date()])
    #expect(answer.wasValidated && answer.body.length == 6 && answer.kept == .no(.noStore))
    #expect(answer.comparison?.body == Self.stored.body && answer.comparison?.isSame == true)
    var delivered = answer
    delivered.addCookies(of: head)
    #expect(delivered.head.fields.values(of: "Set-Cookie") == ["c"])
    #expect(delivered.head.fields.all.count == 4)
  }
}
