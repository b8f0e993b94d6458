import Guards
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@testable import CacheStore

/// A store of an earlier release becomes one of this release, with all of its rows.
@Suite("A store of an earlier release", .inTurn) struct MigrationTests {
  /// A store with two rows, as it was before the last so many migrations.
  private func earlier(_ configure: (inout StoreConfiguration) -> Void = { _ in }) async throws
    -> StoreFixture
  {
    let fixture = try StoreFixture(configure)
    _ = try await fixture.store.put("one", for: .page)
    _ = try await fixture.store.put("two", for: RequestKey(target: "https://example.org/2"))
    await fixture.store.close()
    try fixture.sql("DROP TABLE event_count")
    try fixture.sql("PRAGMA user_version = \(Migrations.first)")
    return fixture
  }

  private func statements(_ fixture: StoreFixture) throws -> [String?] {
    try fixture.sql("SELECT sql FROM sqlite_schema ORDER BY name").map { $0.first?.text }
  }

  @Test func `a look that may wait finds its rows, and the tables are then those of a new store`()
    async throws
  {
    let fixture = try await earlier()
    let store = fixture.another()
    #expect(try await store.lookup(.page).rows.map(\.body.length) == [3])
    #expect(try await store.entries().count == 2)
    #expect(try fixture.number("PRAGMA user_version") == Int64(Migrations.version))
    let new = try StoreFixture()
    _ = try await new.store.accountID(named: "")
    #expect(try statements(fixture) == statements(new))
    #expect(await store.findings().allSatisfy { $0.severity == .fine })
    #expect(try fixture.files.names().filter { $0.contains("damaged") } == [])
  }

  @Test func `the first write keeps its rows, and nobody is told of anything`() async throws {
    let told = Told()
    let fixture = try await earlier { $0.onEvent = { told.note($0) } }
    let store = fixture.another()
    _ = try await store.put("three", for: RequestKey(target: "https://example.org/3"))
    #expect(try await store.entries().count == 3 && told.count == 0)
  }

  @Test func `processes that come upon it at once keep its rows`() async throws {
    let fixture = try await earlier()
    let stores = (0..<6).map { _ in fixture.another() }
    await withTaskGroup { group in
      for (index, store) in stores.enumerated() {
        group.addTask {
          do {
            _ = try await store.put("x", for: RequestKey(target: "https://example.org/of/\(index)"))
          } catch {
            Issue.record(error)
          }
        }
      }
    }
    #expect(try await fixture.another().entries().count == 8)
  }

  @Test func `doctor finds nothing wrong with it`() async throws {
    let fixture = try await earlier()
    #expect(await fixture.another().findings().allSatisfy { $0.severity == .fine })
    #expect(try fixture.number("PRAGMA user_version") == Int64(Migrations.version))
  }

  @Test func `where it may only be read it is left as it is, and the remedy is named`() async throws {
    let fixture = try await earlier { $0.isReadOnly = false }
    var configuration = StoreConfiguration.unhurried(path: fixture.path)
    configuration.isReadOnly = true
    let store = ResponseStore(configuration: configuration)
    let error = await #expect(throws: CacheStoreError.self) { try await store.lookup(.page) }
    #expect(error?.reason == .earlierSchema(isOfRelease: true))
    let remedy = "\(error?.remedy as Any)"
    #expect(remedy.contains("brought up to date"))
    #expect(try fixture.number("PRAGMA user_version") == Int64(Migrations.first))
  }

  /// Its fixtures are made by `scripts/release`.
  @Test func `the store of every release is read whole`() async throws {
    let folder = "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/") + "/Fixtures"
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasPrefix("release-") {
      let fixture = try StoreFixture()
      let bytes = try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
      let path = try fixture.files.write(bytes, to: "store.sqlite")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      #expect(try await fixture.store.entries().count > 3, "\(name)")
      #expect(
        await fixture.store.findings().allSatisfy { $0.severity == .fine || $0.subject == "digest-key" },
        "\(name)")
      _ = try await fixture.store.put("new", for: .page)
      #expect(try await fixture.store.lookup(.page).rows.count == 1)
      #expect(try fixture.files.names().filter { $0.contains("damaged") } == [], "\(name)")
    }
  }
}

private final class Told: Sendable {
  private let events = Guarded(0)
  var count: Int { events.withLock { $0 } }
  func note(_ event: StoreEvent) { events.withLock { $0 += 1 } }
}
