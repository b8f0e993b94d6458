import CacheStore
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("A body that is read while it arrives, and is ended", .inTurn) struct LiveBodyTests {
  @Test func `who waits for its next piece hears of the end at once, and so does who reads on`()
    async throws
  {
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
    let core = fixture.service.core
    let url = try #require(URL(string: "http://origin.test/item"))
    let prepared = try core.prepare(DataService.Request(url), policy: .storedThenFresh)
    let (isAsked, mayEnd, hasEnded) = (Gate(), Gate(), Gate())
    let stream = DataService.BodyStream(length: nil) { () async throws(DataServiceError) -> Data? in
      isAsked.open()
      // Ends early only where it is cancelled.
      await mayEnd.wait()
      return nil
    }
    let body = core.watched(stream, of: prepared)
    let reading = Task {
      let ending = await body.ending()
      hasEnded.open()
      return ending
    }
    await isAsked.wait()
    core.endLiveBodies(with: DataServiceError(.closed, "another's")) { $0.key.account == "alice" }
    core.endLiveBodies(with: DataServiceError(.signedOut, "its own")) { $0.key.account.isEmpty }
    #expect(await eventually { hasEnded.isOpen })
    mayEnd.open()
    #expect(await reading.value == .signedOut)
    #expect(await body.ending() == .signedOut)
    await fixture.service.close()
  }
}
