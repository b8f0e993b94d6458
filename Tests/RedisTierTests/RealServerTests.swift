import CacheStore
import PlatformC
import PlatformFoundation
import Synchronization
import TestSupport
import TestTurns
import Testing

@testable import DataService
@testable import RedisTier

@Suite("A tier on a real server", .inTurn) struct RealServerTests {
  @Test func `what one machine offers another one gets, with its age`() async throws {
    let fleet = try await Fleet()
    let (one, other) = (try Machine(fleet.url()), try Machine(fleet.url()))
    let first = try #require(await one.answer(.page), "\(one.traces.withLock { $0 })")
    #expect(first.row == nil)
    #expect(await one.offer(.page, first.ticket, body: Data("hello".utf8), age: 5_000) == .stored)

    let (ticket, found) = try #require(await other.answer(.page))
    let row = try #require(found)
    #expect(ticket.number > first.ticket.number)
    #expect(row.ticket == first.ticket.number)
    #expect(row.body == Data("hello".utf8))
    #expect(row.length == 5)
    #expect(row.head.status == 200)
    #expect(row.head.fields["Content-Type"] == "text/plain")
    let age = other.timekeeper.wallMilliseconds - row.head.receivedAt
    #expect(age >= 5_000)
    #expect(row.head.receivedAt - row.head.requestedAt == 20)
    #expect(row.head.started.nanoseconds <= other.timekeeper.bootNanoseconds)
    #expect(other.warnings.withLock { $0 } == [])
  }

  @Test func `the scripts have the digests that the server gives them`() async throws {
    let fleet = try await Fleet()
    let client = try fleet.client()
    for script in [Scripts.ask, Scripts.fence, Scripts.commit] {
      let digest = try client.run("SCRIPT", "LOAD", script.text).bytes
      #expect(digest == script.digest, "\(String(decoding: digest ?? [], as: UTF8.self))")
    }
  }
}
