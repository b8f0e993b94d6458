import DataService
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: transfers under way", .inTurn) struct TransfersTests {
  private let start = ContinuousClock.now

  private func progress(_ received: Int64, of expected: Int64?) -> DataService.TransferProgress {
    .init(received: received, expected: expected)
  }

  @Test func `shown once its bytes have been coming for half a second`() {
    var transfers = Transfers()
    transfers.begin(1)
    #expect(transfers.due(after: start) == nil)
    transfers.take(progress(10, of: 100), of: 1, at: start)
    #expect(transfers.due(after: start) == start + .milliseconds(500))
    #expect(transfers.bar(at: start + .milliseconds(499), width: 80) == nil)
    #expect(transfers.bar(at: start + .milliseconds(500), width: 80)?.contains(" 10%  10 B/100 B") == true)
    #expect(transfers.due(after: start + .milliseconds(500)) == nil)
    transfers.end(1)
    // What is still told of it comes too late.
    transfers.take(progress(20, of: 100), of: 1, at: start)
    #expect(transfers.bar(at: start + .seconds(9), width: 80) == nil)
  }

  @Test func `what was whole sooner is not shown, however long it then takes to be stored`() {
    var transfers = Transfers()
    transfers.begin(1)
    transfers.take(progress(10, of: 100), of: 1, at: start)
    transfers.take(progress(100, of: 100), of: 1, at: start + .milliseconds(499))
    #expect(transfers.due(after: start + .milliseconds(499)) == nil)
    #expect(transfers.bar(at: start + .seconds(9), width: 80) == nil)
    transfers.take(progress(100, of: 100), of: 1, at: start + .milliseconds(500))
    #expect(transfers.bar(at: start + .seconds(1), width: 80)?.contains("100%") == true)
  }

  @Test func `several are summed; one of unknown length leaves the sum without a share`() {
    var transfers = Transfers()
    for number in 1...3 { transfers.begin(number) }
    transfers.take(progress(30, of: 100), of: 1, at: start)
    transfers.take(progress(50, of: 100), of: 2, at: start)
    let now = start + .seconds(1)
    #expect(transfers.bar(at: now, width: 80)?.contains(" 40%  80 B/200 B") == true)
    transfers.take(progress(20, of: nil), of: 3, at: start)
    #expect(transfers.bar(at: now, width: 80)?.contains("]  100 B  100 B/s") == true)
    transfers.end(3)
    #expect(transfers.bar(at: now, width: 80)?.contains(" 40%") == true)
  }

  @Test func `lengths that no body has are summed`() {
    var transfers = Transfers()
    for number in 1...2 {
      transfers.begin(number)
      transfers.take(progress(10, of: Int64.max), of: number, at: start)
    }
    let now = start + .seconds(1)
    #expect(transfers.bar(at: now, width: 80)?.contains("  0%  20 B/17592.2 GB") == true)
    for number in 1...2 { transfers.take(progress(Int64.max, of: nil), of: number, at: start) }
    #expect(transfers.bar(at: now, width: 80)?.contains("]  17592.2 GB") == true)
  }

  @Test func `the next bar is due when the first of those that are not shown has taken long`() {
    var transfers = Transfers()
    for number in 1...3 { transfers.begin(number) }
    transfers.take(progress(1, of: 10), of: 1, at: start)
    transfers.take(progress(1, of: 10), of: 3, at: start + .milliseconds(300))
    transfers.take(progress(1, of: 10), of: 2, at: start + .milliseconds(200))
    #expect(transfers.due(after: start + .milliseconds(400)) == start + .milliseconds(500))
    #expect(transfers.due(after: start + .milliseconds(500)) == start + .milliseconds(700))
    #expect(transfers.due(after: start + .milliseconds(800)) == nil)
    // Its pace is that of the one that came first.
    #expect(transfers.bar(at: start + .seconds(1), width: 80)?.contains("  3 B/30 B  3 B/s") == true)
    transfers.end(1)
    transfers.take(progress(9, of: 10), of: 1, at: start)
    #expect(transfers.bar(at: start + .milliseconds(700), width: 80)?.contains("  1 B/10 B") == true)
  }

  @Test func `what has come and is not whole is no short one`() {
    var transfers = Transfers()
    transfers.begin(1)
    transfers.take(progress(100, of: nil), of: 1, at: start)
    #expect(transfers.due(after: start) == start + .milliseconds(500))
  }
}
