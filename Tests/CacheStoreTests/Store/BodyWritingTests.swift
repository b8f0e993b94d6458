import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

@Suite("Bodies written over, and those that go", .inTurn) struct BodyWritingTests {
  @Test(arguments: [1000, 1001])
  func `a body of one chunk is written over in place and goes with its row, a longer one is released`(
    length: Int
  ) async throws {
    let fixture = try StoreFixture {
      $0.chunkBytes = 1000
      $0.maximumRows = 1
    }
    let store = fixture.store
    let isOneChunk = length == 1000
    let first = try #require(try await store.put(pattern(length), for: .page).row).body.id
    let second = try #require(try await store.put("short", for: .page, at: 2).row).body.id
    #expect((first == second) == isOneChunk)
    let orphans = "SELECT count(*) FROM body WHERE id NOT IN (SELECT body_id FROM last_request)"
    #expect(try fixture.number(orphans) == (isOneChunk ? 0 : 1))
    _ = try await store.put(pattern(length, seed: 1), for: .page, at: 3)
    // Takes the place of the only row.
    _ = try await store.put("other", for: .other, at: 4)
    #expect(try await store.entries().map(\.key) == [.other])
    // The first went with the next write.
    #expect(try fixture.number(orphans) == (isOneChunk ? 0 : 1))
    #expect(try fixture.number("SELECT count(*) FROM body WHERE id = \(first)") == 0)
    #expect(try await store.body(of: .other) == "other")
  }

  @Test(arguments: [1000, 1001])
  func `of a body that came too late nothing was written`(length: Int) async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    _ = try await fixture.store.put("later", for: .page, at: 10)
    #expect(try await fixture.store.put(pattern(length), for: .page, at: 9) == .superseded)
    #expect(try fixture.number("SELECT count(*) FROM body") == 1)
  }

  @Test func `the first chunk is that of the very body that was asked for, or it is replaced`() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let store = fixture.store
    let old = try #require(try await store.put("first", for: .page).row).body
    #expect(try await store.firstChunk(of: old) == Data("first".utf8))
    // Written over in place: by one as long, and by a shorter one.
    for (instant, text) in [(2, "other"), (3, "x")] as [(Int64, String)] {
      let new = try #require(try await store.put(text, for: .page, at: instant).row).body
      #expect(new.id == old.id, "\(text)")
      #expect(try await store.firstChunk(of: new) == Data(text.utf8))
      await #expect("\(text)") { try await store.firstChunk(of: old) } throws: {
        ($0 as? CacheStoreError)?.reason == .replaced
      }
    }
    let long = try #require(try await store.put(pattern(2500), for: .page, at: 4).row).body
    #expect(try await store.firstChunk(of: long) == pattern(2500)[..<1000])
    _ = try await store.put("short", for: .page, at: 5)
    #expect(try await store.firstChunk(of: long) == pattern(2500)[..<1000], "it is kept for its readers")
  }
}
