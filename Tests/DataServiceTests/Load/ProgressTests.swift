import CacheStore
import DataServiceTesting
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("Progress", .inTurn) struct ProgressTests {
  /// An origin whose body comes in pieces of ten bytes; the clock moves on before each.
  private struct Dripping: Transport {
    let pieces: Int
    let isLengthKnown: Bool
    let clock: VirtualClock
    let step: Duration

    func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse {
      let sent = Counter()
      let body = DataService.BodyStream(length: isLengthKnown ? Int64(pieces * 10) : nil) {
        () async throws(DataServiceError) -> Data? in
        guard sent.next() < pieces else { return nil }
        clock.advance(by: step)
        return Data(repeating: 97, count: 10)
      }
      return TransportResponse(version: "1.1", status: 200, fields: [:], body: body)
    }
  }

  private final class Counter: Sendable {
    private let count = Mutex(0)
    func next() -> Int {
      count.withLock { count in
        defer { count += 1 }
        return count
      }
    }
  }

  /// What a load tells while so many pieces come.
  private func told(pieces: Int, isLengthKnown: Bool = true, every step: Duration) async throws
    -> [DataService.TransferProgress]
  {
    let clock = VirtualClock()
    let transport = Dripping(pieces: pieces, isLengthKnown: isLengthKnown, clock: clock, step: step)
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock)
    let told = Mutex<[DataService.TransferProgress]>([])
    let request = DataService.Request(try #require(URL(string: "http://origin.test/")))
    var last = ""
    for await delivery in fixture.service.deliveries(
      for: request, progress: { update in told.withLock { $0.append(update) } })
    {
      last = delivery.outline
    }
    #expect(last.hasPrefix("fresh("))
    await fixture.service.close()
    return told.withLock { $0 }
  }

  @Test func `told at most every 50 ms, and of the last piece at once`() async throws {
    let told = try await told(pieces: 100, every: .milliseconds(10))
    #expect(told.map(\.received) == [10] + (1...19).map { $0 * 50 } + [1_000])
    #expect(told.allSatisfy { $0.expected == 1_000 })
  }

  @Test func `while the clock stands still the first and the last piece are told`() async throws {
    #expect(try await told(pieces: 100, every: .zero).map(\.received) == [10, 1_000])
  }

  @Test func `slow pieces are all told; an unknown length stays unknown`() async throws {
    let told = try await told(pieces: 5, isLengthKnown: false, every: .seconds(1))
    #expect(told.map(\.received) == [10, 20, 30, 40, 50])
    #expect(told.allSatisfy { $0.expected == nil })
  }

  @Test func `what came too soon is told when the interval is over, unless the body is whole by then`() {
    func progress(_ received: Int64) -> DataService.TransferProgress {
      .init(received: received, expected: 99)
    }
    let start: Int64 = 1_000_000_000
    var rate = ProgressRate()
    func take(_ received: Int64, after milliseconds: Int64) -> ProgressRate.Step {
      rate.take(progress(received), at: start + milliseconds * 1_000_000)
    }
    func due(after milliseconds: Int64) -> Int64? { rate.due(at: start + milliseconds * 1_000_000)?.received }
    let first = [take(1, after: 0), take(2, after: 20), take(3, after: 30)]
    #expect(first == [.tell, .wait(.milliseconds(30)), .hold])
    let held = [due(after: 50), due(after: 50)]
    #expect(held == [3, nil])
    let last = [take(4, after: 60), take(99, after: 61)]
    #expect(last == [.wait(.milliseconds(40)), .tell])
    let overtaken = due(after: 100)
    #expect(overtaken == nil)
    let late = take(5, after: 70)
    rate.end()
    let ended = due(after: 200)
    #expect(late == .wait(.milliseconds(41)) && ended == nil)
  }

  @Test func `what comes at the very end of the interval is told at once, a nanosecond before it waits`() {
    let update = DataService.TransferProgress(received: 1, expected: 99)
    let start: Int64 = 1_000_000_000
    var rate = ProgressRate()
    let steps = [
      rate.take(update, at: start), rate.take(update, at: start + ProgressRate.interval),
      rate.take(update, at: start + 2 * ProgressRate.interval - 1),
    ]
    #expect(steps == [.tell, .tell, .wait(.nanoseconds(1))])
  }
}
