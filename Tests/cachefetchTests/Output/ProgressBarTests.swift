import DataService
import Testing
import TestTurns

@testable import Launch
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
        #expect(text(received, of: expected, width: width).count <= width, "\(received)")
      }
    }
  }

  @Test func `without a length, or with more than was said, there is no share`() {
    #expect(
      text(3_000, of: nil, width: 60) == "[" + String(repeating: ".", count: 40) + "]  3.0 kB  1.5 kB/s")
    #expect(text(3_000, of: 2_000, width: 60).hasSuffix("]  3.0 kB  1.5 kB/s"))
    #expect(text(0, of: 0, width: 60).hasSuffix("]  0 B  0 B/s"))
  }

  @Test(
    "ten cells show the share, which stands beside them; where there is no room for ten it stands alone",
    arguments: [
      (0, "   0%", ">         "), (1, "   1%", ">         "), (10, "  10%", "=>        "),
      (99, "  99%", "=========>"),
      (100, " 100%", "=========="),
    ] as [(Int64, String, String)])
  func cells(received: Int64, share: String, cells: String) {
    let bar = ProgressBar.text(progress(received, of: 100), elapsed: .zero, width: 0)
    #expect(bar.isEmpty)
    let details = " \(share)  \(received) B/100 B"
    #expect(
      ProgressBar.text(progress(received, of: 100), elapsed: .zero, width: 12 + details.count)
        == "[\(cells)]" + details)
    // Ten cells are the fewest.
    #expect(
      ProgressBar.text(progress(received, of: 100), elapsed: .zero, width: 11 + details.count)
        == "\(share.dropFirst())  \(received) B/100 B")
  }

  @Test func `pace is told after half a second, and what is left while something is`() {
    func text(_ received: Int64, after milliseconds: Int) -> String {
      ProgressBar.text(progress(received, of: 1_000), elapsed: .milliseconds(milliseconds), width: 200)
    }
    #expect(text(500, after: 499).hasSuffix("]   50%  500 B/1.0 kB"))
    #expect(text(500, after: 500).hasSuffix("  1.0 kB/s  500 ms left"))
    #expect(text(10, after: 1_000).hasSuffix("  10 B/s"))
    #expect(text(11, after: 1_000).hasSuffix("  11 B/s  1 minute 30 s left"))
    #expect(text(1_000, after: 1_000).hasSuffix("  1.0 kB/s"))
  }

  @Test func `of requests those that are fresh are counted, and those that failed`() {
    func text(_ failed: Int) -> String {
      let progress = PreloadProgress(
        fraction: 0.25, receivedBytes: 1_000, expectedBytes: nil, currentStep: nil, stepCount: 8, stored: 3,
        fresh: 2,
        failed: failed)
      return ProgressBar.text(progress, elapsed: .seconds(1), width: 200)
    }
    #expect(text(0).hasSuffix("]   25%  2/8  1.0 kB/s  3.0 s left"))
    #expect(text(1).hasSuffix("]   25%  2/8  1 failed  1.0 kB/s  3.0 s left"))
  }
}
