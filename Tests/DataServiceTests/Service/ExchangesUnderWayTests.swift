import CacheStore
import DataServiceTesting
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("The list of exchanges under way", .inTurn) struct ExchangesUnderWayTests {
  private let fixture: ServiceFixture

  init() throws {
    fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("body") })
  }

  private func exchange(_ path: String = "item", _ fields: HTTPFields = [:]) throws -> Exchange {
    var request = DataService.Request(try #require(URL(string: "http://origin.test/\(path)")))
    request.fields = fields
    let core = fixture.service.core
    let prepared = try core.prepare(request, policy: .storedThenFresh)
    return Exchange(plan: .init(prepared: prepared, isShared: true, mayFollow: true), core: core)
  }

  /// Which exchange a load of the same request would join.
  private func joinable(_ all: ExchangesUnderWay, _ exchange: Exchange) -> ObjectIdentifier? {
    all.joinable(for: exchange.prepared).first.map { ObjectIdentifier($0) }
  }

  @Test
  func
    `of two alike the older is joined, or the one that does not refuse, and both are listed until they end`()
    throws
  {
    var all = ExchangesUnderWay()
    let (first, second) = (try exchange(), try exchange())
    all.add(first, isShared: true)
    #expect(joinable(all, first) == ObjectIdentifier(first))
    all.add(second, isShared: true)
    #expect(joinable(all, first) == ObjectIdentifier(first))
    #expect(
      all.joinable(for: first.prepared).map { ObjectIdentifier($0) }
        == [first, second].map { ObjectIdentifier($0) })
    #expect(all.count == 2 && all.all.count == 2)
    all.forget(first)
    #expect(joinable(all, first) == ObjectIdentifier(second))
    #expect(all.count == 1 && all.all.count == 1)
    all.forget(first)
    #expect(all.count == 1, "what has ended ends once")
    all.forget(second)
    #expect(joinable(all, first) == nil)
    #expect(all.count == 0 && all.all.isEmpty)
  }

  @Test func `of two with one target, detaching or ending one leaves the other to be joined`() throws {
    var all = ExchangesUnderWay()
    let (plain, french) = (try exchange(), try exchange("item", ["Accept-Language": "fr"]))
    all.add(plain, isShared: true)
    all.add(french, isShared: true)
    #expect(joinable(all, plain) == ObjectIdentifier(plain))
    #expect(joinable(all, french) == ObjectIdentifier(french))
    all.detach(plain)
    #expect(joinable(all, plain) == nil)
    #expect(joinable(all, french) == ObjectIdentifier(french))
    #expect(all.count == 2 && all.all.count == 2)
    all.forget(french)
    #expect(joinable(all, french) == nil)
    #expect(all.all.map { ObjectIdentifier($0) } == [ObjectIdentifier(plain)])
  }

  @Test func `one that nobody may join is only listed, and ends without another`() throws {
    var all = ExchangesUnderWay()
    let (first, second) = (try exchange(), try exchange())
    all.add(first, isShared: false)
    all.add(second, isShared: false)
    #expect(joinable(all, first) == nil)
    all.forget(first)
    #expect(all.count == 1)
    #expect(all.all.map { ObjectIdentifier($0) } == [ObjectIdentifier(second)])
  }

  @Test func `those that a prefetch began are not wanted, whether or not they may be joined`() throws {
    var all = ExchangesUnderWay()
    let prefetch: HTTPFields = ["Sec-Purpose": "prefetch"]
    all.add(try exchange("1"), isShared: true)
    all.add(try exchange("2", prefetch), isShared: true)
    #expect(all.wanted(upTo: 9) == 1)
    all.add(try exchange("3", prefetch), isShared: false)
    #expect(all.wanted(upTo: 9) == 1)
    all.add(try exchange("4"), isShared: false)
    #expect(all.wanted(upTo: 9) == 2 && all.wanted(upTo: 1) == 1)
    #expect(all.count == 4)
  }

  @Test func `what is detached by its key is all there is of it, joinable before or not`() throws {
    var all = ExchangesUnderWay()
    let (shared, alone, other) = (try exchange(), try exchange(), try exchange("other"))
    all.add(shared, isShared: true)
    all.add(alone, isShared: false)
    all.add(other, isShared: true)
    let key = shared.prepared.key
    let found = all.detach { $0 == key }
    #expect(Set(found.map { ObjectIdentifier($0) }) == [ObjectIdentifier(shared), ObjectIdentifier(alone)])
    #expect(joinable(all, shared) == nil)
    #expect(joinable(all, other) == ObjectIdentifier(other))
    #expect(all.count == 3)
  }
}
