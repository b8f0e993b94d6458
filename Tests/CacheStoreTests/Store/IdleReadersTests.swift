import TestTurns
import Testing

@testable import CacheStore

@Suite("Connections that wait for their next look", .inTurn) struct IdleReadersTests {
  private func stored() async throws -> StoreFixture {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("x", for: .page)
    return fixture
  }

  @Test func `four are kept, and a fifth is not`() async throws {
    let fixture = try await stored()
    let identity = try #require(FileStatus(path: fixture.path)).identity
    let idle = IdleReaders()
    #expect(idle.isEmpty)
    for _ in 0..<5 {
      let reader = try fixture.connection()
      idle.add(reader)
    }
    for number in 1...4 {
      let taken = try idle.take(identity)
      #expect(taken?.identity == identity, "\(number)")
    }
    let fifth = try idle.take(identity)
    #expect(fifth == nil && idle.isEmpty)
  }

  @Test func `one to another file is given to nobody, and is closed`() async throws {
    let (fixture, other) = (try await stored(), try await stored())
    let identity = try #require(FileStatus(path: other.path)).identity
    let idle = IdleReaders()
    for _ in 0..<2 {
      let reader = try fixture.connection()
      idle.add(reader)
    }
    let taken = try idle.take(identity)
    #expect(taken == nil && idle.isEmpty)
  }

  @Test func `all are closed at once, and after the close none is kept and none is given`() async throws {
    let fixture = try await stored()
    let identity = try #require(FileStatus(path: fixture.path)).identity
    let idle = IdleReaders()
    let reader = try fixture.connection()
    idle.add(reader)
    #expect(!idle.isEmpty)
    idle.removeAll()
    #expect(idle.isEmpty)
    idle.add(reader)
    idle.close()
    #expect(idle.isEmpty)
    idle.add(reader)
    #expect(idle.isEmpty)
    #expect {
      _ = try idle.take(identity)
    } throws: {
      ($0 as? CacheStoreError)?.reason == .closed
    }
  }
}
