import DataServiceTesting
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("The thread a decoder runs on", .inTurn) struct DecoderThreadTests {
  // A prefetch looks up on the network thread; the longer body is read chunk by chunk.
  @Test(arguments: [10, 600_000]) func `a prefetch decodes stored and fresh beside the network thread`(
    length: Int
  ) async throws {
    let fixture = try ServiceFixture.scripted { _, number async in
      .answer(String(repeating: "\(number)", count: length))
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    _ = await fixture.outline(url)
    let thread = fixture.service.core.thread
    let onNetworkThread = Mutex<[Bool]>([])
    let anticipation = fixture.service.anticipate(DataService.Request(url), holdFor: .seconds(3600)) {
      response in
      onNetworkThread.withLock { $0.append(thread.isCurrent) }
      return response.text.prefix(1)
    }
    var values: [Substring] = []
    for await delivery in anticipation.commit() {
      switch delivery {
      case .stored(let response): values.append(response.value)
      case .fresh(let response, _): values.append(response.value)
      case .failure(let error, _): Issue.record(error)
      }
    }
    #expect(values == ["1", "2"])
    #expect(onNetworkThread.withLock { $0 } == [false, false])
  }
}
