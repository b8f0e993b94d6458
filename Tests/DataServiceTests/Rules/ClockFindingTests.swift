import CacheStore
import TestTurns
import Testing

@testable import DataService

@Suite("Rules: a clock that contradicts what was received", .inTurn) struct ClockFindingTests {
  private static let now: Int64 = 1_700_000_000_000
  private static let day: Int64 = 86_400_000

  /// - Parameters:
  ///   - received: Milliseconds from now.
  ///   - date: Milliseconds from the receipt; `nil` without a `Date`.
  private func row(received: Int64 = -1_000, date: Int64? = 0, age: String? = nil) -> StoredResponse {
    var fields = HTTPFields()
    if let date { fields["Date"] = HTTPDate.format(Self.now + received + date) }
    if let age { fields["Age"] = age }
    return Rule.row(fields, receivedAt: Self.now + received)
  }

  private func message(_ rows: [StoredResponse]) -> String? {
    let found = ClockFinding.finding(rows, now: Self.now)
    #expect(found.subject == "clock" && (found.severity == .wrong) == (found.remedy != nil))
    return found.severity == .wrong ? found.message : nil
  }

  @Test func `an answer from the time to come is one of a clock that was fast, or is slow`() {
    #expect(message([row(received: 60_000)]) == nil)
    #expect(
      message([row(), row(received: 60_001)])
        == "an answer was received at a time that is still to come: Tue, 14 Nov 2023 22:14:20 GMT")
    #expect(
      message([row(received: 400 * Self.day, date: -400 * Self.day)])?.contains("still to come") == true)
  }

  @Test func `all of the last answers have to say otherwise, by more than a day`() {
    let fast = "by the Date of the last answers it was over 400 days fast"
    #expect(message([row(date: -400 * Self.day - 1_000)]) == fast)
    #expect(
      message([row(date: -401 * Self.day), row(date: nil), row(date: -400 * Self.day - 1_000)]) == fast)
    #expect(message([row(date: -400 * Self.day), row()]) == nil, "one server's clock may be wrong")
    #expect(
      message([row(date: Self.day + 1_000)]) == "by the Date of the last answers it was over 1 day slow")
    #expect(message([row(date: Self.day)]) == nil && message([row(date: -Self.day)]) == nil)
  }

  @Test func `an answer from a cache is as old as it says, and what no server sent says nothing`() {
    #expect(message([row(date: -3 * Self.day, age: "259200")]) == nil)
    #expect(message([row(date: nil)]) == nil && message([]) == nil)
    var own = row(received: 400 * Self.day)
    own.head.version = StoredResponse.localVersion
    #expect(message([own]) == nil)
  }
}
