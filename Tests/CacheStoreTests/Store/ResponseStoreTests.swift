import TestTurns
import Testing

@testable import CacheStore

@Suite("The store's forms that do not wait", .inTurn) struct ResponseStoreTests {
  @Test func `none of them waits for a store that is held back, and each goes on afterwards`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    _ = try await store.put("a", for: .page)
    let forms: [(String, () throws -> Void)] = [
      ("look-up", { _ = try store.lookupNow(.page) }),
      ("look-up ahead", { _ = try store.lookupNow(.page, beforeAsking: "https://example.org") }),
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
