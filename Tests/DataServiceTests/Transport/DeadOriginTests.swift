import DataService
import DataServiceTesting
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("Dead origins", .inTurn) struct DeadOriginTests {
  /// An origin that refuses every connection and counts them.
  private final class Refusing: Transport {
    private let count = Mutex(0)
    var attempts: Int { count.withLock { $0 } }

    func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse {
      count.withLock { $0 += 1 }
      throw DataServiceError(.refused, "nobody is there")
    }
  }

  @Test func `a dead origin is asked hardly more often than there are loads`() async throws {
    let clock = VirtualClock()
    let origin = Refusing()
    let fixture = try ServiceFixture(transport: origin, timekeeper: clock)
    let url = try #require(URL(string: "http://origin.test/"))
    // What waits before a retry never waits long.
    let pump = Task {
      while !Task.isCancelled {
        await clock.whenPending()
        clock.advance(by: .seconds(6))
      }
    }
    for _ in 0..<100 {
      let outline = await fixture.outline(url) { $0.limits.retries = 2 }
      #expect(outline == ["failure(refused)"])
    }
    // Two retries for each of the first, then a tenth.
    #expect((110...120).contains(origin.attempts), "\(origin.attempts)")
    pump.cancel()
    let last = clock.after(.zero) {}
    _ = await pump.value
    last.cancel()
    await fixture.service.close()
  }
}
