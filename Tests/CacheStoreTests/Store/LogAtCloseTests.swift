import CacheStore
import TestSupport
import Testing
import TestTurns

@Suite("The log at close", .inTurn) struct LogAtCloseTests {
  @Test func `a log that would delay the next start is emptied, a short one is kept`() async throws {
    let fixture = try StoreFixture()
    let key = RequestKey.page
    // That of the making is long.
    _ = try await fixture.store.put("first", for: key, at: 1)
    await fixture.store.close()
    let short = fixture.another()
    _ = try await short.put("second", for: key, at: 2)
    await short.close()
    #expect(try !fixture.files.bytes(of: "store.sqlite-wal").isEmpty)

    let second = fixture.another()
    for instant in 3...200 { _ = try await second.put("body \(instant)", for: key, at: Int64(instant)) }
    #expect(try fixture.files.bytes(of: "store.sqlite-wal").count > 500_000)
    await second.close()
    #expect(try fixture.files.bytes(of: "store.sqlite-wal").isEmpty)
    #expect(try fixture.number("SELECT count(*) FROM last_request") == 1)
  }
}
