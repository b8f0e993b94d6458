import TestTurns
import Testing

@testable import CacheStore

@Suite("The store's forms that do not wait", .inTurn) struct ResponseStoreTests {
  @Test func `none of them waits for a store that is held back, and each goes on afterwards`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let (row, body) = try #require(try await store.put("a", for: .page).row)
    let forms: [(String, () throws -> Void)] = [
      ("look-up", { _ = try store.lookupNow(.page) }),
      ("look-up ahead", { _ = try store.lookupNow(.page, beforeAsking: "https://example.org") }),
      ("chunk", { _ = try store.chunkNow(0, of: body.id, accountID: body.accountID) }),
      ("version", { _ = try store.dataVersionNow() }),
      ("pause", { _ = try store.pauseNow(accountName: "", responder: "https://example.org") }),
    ]
    await store.whenIdle()
    store.suspendForTesting()
    for (name, form) in forms {
      #expect("\(name)") {
        try form()
      } throws: {
        ($0 as? CacheStoreError)?.reason == .busy
      }
    }
    #expect(try store.freshenNow(freshening(row, body, at: 3)) == nil)
    #expect(!store.closeNow())
    store.resumeForTesting()
    for (name, form) in forms {
      #expect(throws: Never.self, "\(name)") { try form() }
    }
  }

  @Test func `a closed store has no version`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    _ = try fixture.store.dataVersionNow()
    await fixture.store.close()
    #expect {
      _ = try fixture.store.dataVersionNow()
    } throws: {
      ($0 as? CacheStoreError)?.reason == .closed
    }
  }
}
