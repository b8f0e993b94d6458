import DataService
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: the bar of a transfer", .inTurn) struct ProgressBarTests {
  private let start = ContinuousClock.now

  private func progress(_ received: Int64, of expected: Int64?) -> DataService.TransferProgress {
    .init(received: received, expected: expected)
  }

  private func text(_ received: Int64, of expected: Int64?, width: Int) -> String {
    ProgressBar.text(progress(received, of: expected), elapsed: .seconds(2), width: width)
  }

  @Test func `share, size, rate and what is left, with a bar of at most forty cells`() {
    #expect(
      text(5_000_000, of: 20_000_000, width: 200)
        == "[==========>" + String(repeating: " ", count: 29)
        + "]   25%  5.0 MB/20.0 MB  2.5 MB/s  6.0 s left")
  }

  @Test func `a narrow window leaves out what is left, then the rate, and is never overrun`() {
    #expect(
      text(5_000_000, of: 20_000_000, width: 60).hasSuffix("]   25%  5.0 MB/20.0 MB  2.5 MB/s  6.0 s left"))
    #expect(text(5_000_000, of: 20_000_000, width: 50).hasSuffix("]   25%  5.0 MB/20.0 MB  2.5 MB/s"))
    #expect(text(5_000_000, of: 20_000_000, width: 39).hasSuffix("]   25%  5.0 MB/20.0 MB"))
    #expect(text(5_000_000, of: 20_000_000, width: 25) == " 25%  5.0 MB/20.0 MB")
    for width in 0...200 {
      for (received, expected) in [(1, 3), (0, 10), (10, 10), (7, nil), (12, 10)] as [(Int64, Int64?)] {
        #expect(text(received, of: expected, width: width).count <= width)
      }
    }
  }

  @Test func `without a length, or with more than was said, there is no share`() {
    #expect(
      text(3_000, of: nil, width: 60) == "[" + String(repeating: ".", count: 40) + "]  3.0 kB  1.5 kB/s")
    #expect(text(3_000, of: 2_000, width: 60).hasSuffix("]  3.0 kB  1.5 kB/s"))
    #expect(text(0, of: 0, width: 60).hasSuffix("]  0 B  0 B/s"))
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
}
