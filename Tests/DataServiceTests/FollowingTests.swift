import CacheStore
import DataService
import FixtureServer
import FoundationEssentials
import TestSupport
import Testing
import TestTurns

/// Law 7 across processes, seen from the one that follows.
@Suite("Following: another process's exchange answers", .inTurn) struct FollowingTests {
  @Test func `who follows delivers the leader's answer, and at its end lets others go first, for a moment`()
    async throws
  {
    let (isAsked, mayAnswer) = (Gate(), Gate())
    let transport = ScriptedTransport { _, number async throws(DataServiceError) in
      if number > 1 {
        isAsked.open()
        await mayAnswer.wait()
      }
      return .answer("body \(number)")
    }
    let leader = try ServiceFixture(transport: transport)
    let clock = TestTimekeeper()
    let follower = try ServiceFixture(store: leader.store, transport: transport, timekeeper: clock)
    // With the store made, no look-up has to wait and the follower sets no timer but the one it waits by.
    let other = try #require(URL(string: "http://origin.test/other"))
    #expect(await leader.outline(other) == ["fresh(body 1, new)"])
    let url = try #require(URL(string: "http://origin.test/item"))
    async let led = leader.outline(url)
    await isAsked.wait()
    async let followed = follower.outline(url)
    await follower.traced("waiting for another")
    await clock.whenPending()
    mayAnswer.open()
    #expect(await led == ["fresh(body 2, new)"])
    #expect(!follower.service.hasJustFollowed)
    clock.advance(by: .milliseconds(5))
    #expect(await followed == ["fresh(body 2, new)"])
    #expect(transport.requests.count == 2)
    #expect(follower.service.hasJustFollowed && !leader.service.hasJustFollowed)
    clock.advance(by: .milliseconds(50))
    #expect(!follower.service.hasJustFollowed)
    await follower.service.close()
    await leader.service.close()
  }
}
