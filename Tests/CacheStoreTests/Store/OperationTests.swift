import CacheStore
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Operations of the store", .inTurn) struct OperationTests {
  @Test func `a store made before there were pauses and partial downloads is read, and gets their tables`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    try fixture.sql("DROP TABLE pause")
    try fixture.sql("DROP TABLE partial")
    let later = fixture.another()
    let found = try later.lookupNow(.page, beforeAsking: "http://a")
    #expect(found.rows.count == 1 && found.preflight == ResponseStore.Preflight())
    let account = try #require(found.accountID)
    #expect(later.preflightNow(accountID: account, responder: "a", target: "t") == ResponseStore.Preflight())
    #expect(try later.pauseNow(accountName: "", responder: "a") == nil)
    #expect(try await later.partialBody(accountID: account, key: .page) == nil)
    let now = StartMark(boot: "b", nanoseconds: 1)
    #expect(await later.findings(at: now).allSatisfy { $0.severity == .fine })
    try await later.pause(accountID: account, responder: "a", Pause(heard: now, milliseconds: 5))
    #expect(try later.pauseNow(accountName: "", responder: "a")?.milliseconds == 5)
    #expect(await later.findings(at: now).contains { $0.subject == "pause" && $0.severity == .fine })
    do {
      let body = try await later.beginBody(
        accountID: account, partial: .init(key: .page, url: "u", strongETag: "\"1\"", wholeLength: nil))
      try await body.append(pattern(10))
    }
    #expect(try await later.partialBody(accountID: account, key: .page)?.partial.url == "u")
    #expect(await later.findings(repair: true, at: now).contains { $0.severity == .repaired })
    #expect(try later.pauseNow(accountName: "", responder: "a") == nil)
  }

  @Test func `a store that is not there answers as an empty one, and is not made`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    #expect(try store.lookupNow(.page).rows.isEmpty)
    #expect(try await store.lookup(.page).rows.isEmpty)
    #expect(try await store.entries().isEmpty)
    #expect(try await store.remove(.all, started: .at(1)) == 0)
    #expect(try await store.pauses(at: .at(1)).isEmpty)
    #expect(try await store.endPauses(at: .at(1)) { _ in true } == 0)
    let statistics = try await store.statistics()
    #expect(statistics.fileBytes == 0 && statistics.logBytes == 0 && statistics.parts.isEmpty)
    #expect(try await store.limits().own == StoreLimits())
    #expect(await store.performMaintenance(budget: .seconds(60)) == nil)
    #expect(try fixture.files.names().isEmpty)
  }

  @Test func `what matters before an origin is asked comes in one look`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    func ahead(_ origin: String, _ target: String) throws -> ResponseStore.Preflight? {
      try store.lookupNow(RequestKey(target: target), beforeAsking: origin).preflight
    }
    let pause = Pause(heard: StartMark(boot: "b", nanoseconds: 1), milliseconds: 5)
    let account = try await store.accountID(named: "")
    func preflight(_ origin: String, _ target: String, account id: Int64? = nil) -> ResponseStore.Preflight {
      store.preflightNow(accountID: id ?? account, responder: origin, target: target)
    }
    #expect(preflight("a", "t") == ResponseStore.Preflight())
    #expect(try ahead("a", "t") == ResponseStore.Preflight())
    try await fixture.another().pause(accountID: account, responder: "a", pause)
    let body = try await fixture.another().beginBody(
      accountID: account,
      partial: .init(key: RequestKey(target: "t"), url: "t", strongETag: "\"1\"", wholeLength: nil))
    #expect(preflight("a", "t").pause == pause && preflight("a", "t").mayHavePartialBody)
    #expect(try ahead("a", "t") == preflight("a", "t"))
    #expect(preflight("b", "u") == ResponseStore.Preflight())
    #expect(try ahead("b", "u") == ResponseStore.Preflight())
    #expect(try store.lookupNow(RequestKey(target: "t")).preflight == nil, "nobody wants to ask")
    #expect(preflight("a", "t", account: account + 1) == ResponseStore.Preflight())
    store.suspendForTesting()
    #expect(preflight("a", "t") == ResponseStore.Preflight(), "a store in trouble holds no exchange up")
    store.resumeForTesting()
    withExtendedLifetime(body) {}
  }

  @Test func `the data version changes when somebody commits, and only then`() async throws {
    let fixture = try StoreFixture()
    let watching = fixture.another()
    let none = try watching.dataVersionNow()
    #expect(try watching.dataVersionNow() == none)
    _ = try await fixture.store.put("a", for: .page)
    let first = try watching.dataVersionNow()
    #expect(first != none)
    #expect(try watching.dataVersionNow() == first)
    _ = try await fixture.store.put("b", for: .page, at: 2)
    #expect(try watching.dataVersionNow() != first)
    let own = try fixture.store.dataVersionNow()
    _ = try await fixture.store.put("c", for: .page, at: 3)
    #expect(try fixture.store.dataVersionNow() != own, "the store's own commits count too")
  }

  @Test func `a closed store says so`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    await #expect { try await fixture.store.lookup(.page) } throws: {
      ($0 as? CacheStoreError)?.reason == .closed
    }
    await #expect { try await fixture.store.accountID(named: "") } throws: {
      ($0 as? CacheStoreError)?.reason == .closed
    }
  }
}
