import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@testable import CacheStore

@Suite("What a look-up opens and reads", .inTurn) struct LookUpPathTests {
  /// Where a file system hangs, so may the question for a lock, and on the calling thread nobody may wait.
  @Test func `no form that does not wait opens the file of locks`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    let account = try await fixture.store.accountID(named: "")
    let responder = "https://example.org"
    let forms: [(String, (ResponseStore) throws -> Void)] = [
      ("look-up", { _ = try $0.lookupNow(.page) }),
      ("look-up ahead", { _ = try $0.lookupNow(.page, beforeAsking: responder) }),
      ("preflight", { _ = $0.preflightNow(accountID: account, responder: responder, target: "t") }),
      ("preparation", { _ = $0.prepareLookup(.page) }),
    ]
    for (name, form) in forms {
      let other = fixture.another()
      try form(other)
      #expect(other.isReadyToLookUp && !other.isReadyToLease, "\(name)")
      await other.close()
    }
  }

  @Test func `after a write a look goes through the connection that wrote, one that may wait does not`()
    async throws
  {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put("a", for: .page)
    await store.whenIdle()
    #expect(try store.lookupNow(.page).rows.count == 1)
    #expect(try store.lookupNow(.page, beforeAsking: "https://example.org").rows.count == 1)
    #expect(!store.isReadyToLookUp)
    #expect(try await store.lookup(.page).rows.count == 1)
    #expect(store.isReadyToLookUp)
    await store.close()
  }

  @Test func `the pages that are counted are those of the look-up of that very key`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let target = "https://example.org/page"
    let key = RequestKey(account: "alice", target: target, method: "POST", extra: "insecure")
    #expect(try store.pagesReadForTesting(key) == 0, "there is no store")
    _ = try await store.put("a", for: key)
    let pages = try store.pagesReadForTesting(key)
    for other in [
      RequestKey(account: "bob", target: target, method: "POST", extra: "insecure"),
      RequestKey(account: "alice", target: "https://example.org/", method: "POST", extra: "insecure"),
      RequestKey(account: "alice", target: target, method: "GET", extra: "insecure"),
      RequestKey(account: "alice", target: target, method: "POST", extra: ""),
    ] {
      #expect(try store.pagesReadForTesting(other) < pages, "\(other)")
    }
    await store.close()
  }

  @Test func `a store that a test holds back may be released`() throws {
    let fixture = try StoreFixture()
    do {
      let store = fixture.another()
      store.suspendForTesting()
    }
    #expect(try fixture.files.names().isEmpty)
  }
}
