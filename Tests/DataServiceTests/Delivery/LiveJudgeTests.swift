import CacheStore
import PlatformFoundation
import TestTurns
import Testing

@testable import DataService

@Suite("What a live sequence hands on", .inTurn) struct LiveJudgeTests {
  private typealias Judge = LiveJudge<String>
  private typealias Delivery = DataService.Delivery<WholeValue<String>>

  private static let began = StartMark(boot: "now", nanoseconds: 100)

  private func response(
    _ text: String, started: Int64, boot: String = "now", receivedAt: Int64 = 0, version: String = "1.1"
  ) -> Judge.Response {
    let head = DataService.ResponseHead.live(
      started: StartMark(boot: boot, nanoseconds: started), receivedAt: receivedAt, version: version)
    return .init(value: WholeValue(value: text, data: Data(text.utf8)), head: head)
  }

  private func said(_ delivery: DataService.Delivery<String>?) -> String? {
    switch delivery {
    case nil: nil
    case .stored(let response): "stored(\(response.value))"
    case .fresh(let response, let change): "fresh(\(response.value), \(change.rawValue))"
    case .failure(let error, _): "failure(\(error.kind.name))"
    }
  }

  @Test func `a load's own row comes once, whichever of the two tells of it first`() {
    var judge = Judge(began: Self.began)
    let (old, new) = (response("a", started: 50), response("b", started: 101))
    #expect(said(judge.loaded(.stored(old))) == "stored(a)")
    #expect(said(judge.observed(old, .unchanged)) == nil)
    #expect(said(judge.loaded(.fresh(new, .changed))) == "fresh(b, changed)")
    #expect(said(judge.observed(new, .unchanged)) == nil)
    let third = response("c", started: 102)
    #expect(said(judge.observed(third, .changed)) == "fresh(c, changed)")
    #expect(said(judge.loaded(.fresh(third, .changed))) == nil)
    #expect(said(judge.loaded(.stored(third))) == nil)
  }

  @Test func `what a load has confirmed is handed on, however alike, and a failure always`() {
    var judge = Judge(began: Self.began)
    // Where a clock stands still two exchanges begin, and end, at the same instant.
    let response = response("a", started: 101)
    #expect(said(judge.loaded(.fresh(response, .new))) == "fresh(a, new)")
    #expect(said(judge.observed(response, .unchanged)) == nil)
    #expect(said(judge.loaded(.fresh(response, .unchanged))) == "fresh(a, unchanged)")
    // The observer is faster by one delivery, not by two.
    #expect(said(judge.observed(self.response("b", started: 101), .changed)) == "fresh(b, changed)")
    #expect(said(judge.loaded(.fresh(self.response("b", started: 101), .changed))) == nil)
    #expect(
      said(judge.loaded(.fresh(self.response("b", started: 101), .unchanged))) == "fresh(b, unchanged)")
    for _ in 1...2 {
      let failure = Delivery.failure(DataServiceError(.refused, ""), lastKnown: response)
      #expect(said(judge.loaded(failure)) == "failure(refused)")
    }
  }

  @Test func `nothing is handed on that began before what was, in another boot neither`() {
    var judge = Judge(began: Self.began)
    #expect(said(judge.loaded(.fresh(response("new", started: 105), .new))) == "fresh(new, new)")
    #expect(said(judge.observed(response("old", started: 104, receivedAt: 9), .changed)) == nil)
    #expect(said(judge.observed(response("old", started: 900, boot: "before"), .changed)) == nil)
    #expect(said(judge.loaded(.stored(response("old", started: 104)))) == nil)
    #expect(said(judge.loaded(.fresh(response("old", started: 104), .changed))) == nil)
    #expect(said(judge.observed(nil, .new)) == nil)
    // Validated by somebody: the same row, begun later.
    #expect(said(judge.observed(response("new", started: 106), .unchanged)) == "fresh(new, unchanged)")
    // At the same instant the bytes, and when they came, tell.
    #expect(said(judge.observed(response("newer", started: 106), .changed)) == "fresh(newer, changed)")
    #expect(
      said(judge.observed(response("newer", started: 106, receivedAt: 1), .unchanged))
        == "fresh(newer, unchanged)")
  }

  @Test func `a start later than now is not believed`() {
    var judge = Judge(began: Self.began)
    judge.now = 200
    #expect(said(judge.loaded(.fresh(response("future", started: 900), .new))) == "fresh(future, new)")
    #expect(said(judge.observed(response("a", started: 110), .changed)) == "fresh(a, changed)")
    #expect(said(judge.observed(response("b", started: 200), .changed)) == "fresh(b, changed)")
    #expect(said(judge.observed(response("a", started: 110), .changed)) == nil)
    // What is of another boot compares with none of this one.
    #expect(said(judge.observed(response("c", started: 900, boot: "before"), .changed)) == nil)
  }

  @Test func `the rows of two other boots are told apart by their content alone`() {
    var judge = Judge(began: Self.began)
    #expect(said(judge.loaded(.stored(response("a", started: 9, boot: "first")))) == "stored(a)")
    #expect(
      said(judge.observed(response("b", started: 1, boot: "import"), .changed)) == "fresh(b, changed)")
  }

  @Test func `what was stored before is for the load to deliver; what comes later is news at once`() {
    var judge = Judge(began: Self.began)
    #expect(said(judge.observed(response("old", started: 100), .new)) == nil)
    #expect(said(judge.observed(response("new", started: 100), .new)) == "fresh(new, new)")
    var other = Judge(began: Self.began)
    #expect(said(other.observed(response("new", started: 101), .new)) == "fresh(new, new)")
    var third = Judge(began: Self.began)
    #expect(said(third.observed(nil, .new)) == nil)
    #expect(said(third.observed(response("first", started: 100), .new)) == "fresh(first, new)")
  }

  @Test func `what the program has stored itself is stored, not fresh`() {
    var judge = Judge(began: Self.began)
    #expect(said(judge.loaded(.fresh(response("a", started: 101), .new))) == "fresh(a, new)")
    let local = response("mine", started: 102, version: StoredResponse.localVersion)
    #expect(said(judge.observed(local, .changed)) == "stored(mine)")
    #expect(judge.lastData == Data("mine".utf8))
  }
}

extension DataService.ResponseHead {
  /// The head of a response that a live sequence hears of.
  static func live(started: StartMark, receivedAt: Int64 = 0, version: String = "1.1") -> Self {
    let freshness = FreshnessInputs(
      status: 200, fields: [:], requestedAt: receivedAt, receivedAt: receivedAt, now: receivedAt,
      isStored: true)
    return Self(
      version: version, status: 200, reason: "OK", fields: [:], interim: [], url: "http://a.test/",
      requestURL: URL(filePath: "/x"), account: "", receivedAtMilliseconds: receivedAt,
      freshness: freshness, wasValidated: false, kept: .yes, elapsed: .zero, started: started)
  }
}
