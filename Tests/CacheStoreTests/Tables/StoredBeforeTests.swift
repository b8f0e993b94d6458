import CacheStore
import Guards
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

/// What a revision before the first release wrote: nothing of it is carried over.
@Suite("A store from before the first release", .inTurn) struct StoredBeforeTests {
  /// A copy of such a store, with what may stand beside one, and what the store tells.
  private final class Copy {
    private final class Events: Sendable {
      private let noted = Guarded<[StoreEvent]>([])
      var all: [StoreEvent] { noted.withLock { $0 } }
      func note(_ event: StoreEvent) { noted.withLock { $0.append(event) } }
    }

    let fixture: StoreFixture
    private let events = Events()

    init(isReadOnly: Bool = false, isUntrusted: Bool = false) throws {
      let events = events
      fixture = try StoreFixture {
        $0.onEvent = { events.note($0) }
        ($0.isReadOnly, $0.isUntrusted) = (isReadOnly, isUntrusted)
      }
      let folder = "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/") + "/Fixtures"
      let bytes = try Data(contentsOf: URL(filePath: "\(folder)/schema-1.sqlite"))
      let path = try fixture.files.write(bytes, to: "store.sqlite")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      try fixture.files.write("counts of its rows", to: "store.sqlite.uses")
    }

    var told: [StoreEvent] { events.all }
  }

  @Test func `the first write begins it anew, and tells that in one line that names no damage`() async throws
  {
    let copy = try Copy()
    let store = copy.fixture.store
    _ = try await store.put("new", for: .page)
    #expect(try await store.entries().map(\.key) == [.page])
    #expect(copy.told == [.begunAnew(path: copy.fixture.path)])
    let line = try #require(copy.told.first).message
    #expect(line.contains(copy.fixture.path) && !line.contains("damage") && !line.contains("\n"))
    #expect(await store.findings().allSatisfy { $0.severity == .fine })
    #expect(!copy.fixture.files.contains("store.sqlite.uses"))
    #expect(try copy.fixture.files.names().filter { $0.contains("damaged") || $0.contains("repaired") } == [])
  }

  @Test func `a look that may wait begins it anew, and one that may not says what it is`() async throws {
    let copy = try Copy()
    let store = copy.fixture.store
    #expect { try store.lookupNow(.page) } throws: {
      ($0 as? CacheStoreError)?.reason == .earlierSchema(isOfRelease: false)
        && ($0 as? CacheStoreError)?.mayPass == true
    }
    #expect(try await store.lookup(.page).rows.isEmpty)
    // The look that could not wait has begun it anew, or is about to say so.
    while copy.told.isEmpty { await Task.yield() }
    #expect(copy.told == [.begunAnew(path: copy.fixture.path)])
    #expect(try store.lookupNow(.page).rows.isEmpty)
  }

  @Test func `processes that come upon it at once begin it anew once`() async throws {
    let copy = try Copy()
    let stores = (0..<6).map { _ in copy.fixture.another() }
    await withTaskGroup { group in
      for (index, store) in stores.enumerated() {
        group.addTask {
          do {
            _ = try await store.put("x", for: RequestKey(target: "https://example.org/\(index)"))
          } catch {
            Issue.record(error)
          }
        }
      }
    }
    #expect(try await copy.fixture.store.entries().count == 6)
    #expect(copy.told.count == 1)
  }

  @Test func `a repair that a person asks for begins it anew`() async throws {
    let copy = try Copy()
    let before = await copy.fixture.store.findings()
    #expect(before.contains { $0.severity == .wrong && $0.message.contains("earlier version") })
    #expect(before.allSatisfy { !$0.message.contains("damaged") })
    #expect(await copy.fixture.store.findings(repair: true).contains { $0.severity == .repaired })
    #expect(copy.told == [.begunAnew(path: copy.fixture.path)])
  }

  @Test(arguments: [false, true])
  func `where it may only be read it is left as it is, and said not to be damaged`(isUntrusted: Bool)
    async throws
  {
    let copy = try Copy(isReadOnly: true, isUntrusted: isUntrusted)
    let bytes = try copy.fixture.files.bytes(of: "store.sqlite")
    await #expect { try await copy.fixture.store.lookup(.page) } throws: {
      let error = $0 as? CacheStoreError
      return error?.reason == .earlierSchema(isOfRelease: false) && error?.message.contains("damage") == false
    }
    #expect(try copy.fixture.files.bytes(of: "store.sqlite") == bytes && copy.told.isEmpty)
  }

  /// Whoever changes a statement of `schema.sql` adds a migration, raises `user_version` there, and writes the new checksum
  /// here: a store with other statements under the same number would be taken for a damaged one.
  @Test func `the revision is another one for each text of the schema`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.accountID(named: "")
    let statements = try fixture.sql("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").map
    {
      $0.first?.text?.split(separator: "\n").map { line in
        line.prefix(upTo: line.firstRange(of: "--")?.lowerBound ?? line.endIndex).split(separator: " ")
          .joined(separator: " ")
      }.joined(separator: " ") ?? ""
    }
    let text = Array(statements.joined(separator: ";").utf8)
    let revision = try fixture.number("PRAGMA user_version")
    #expect(
      revision == 4 && ResponseStore.leaseHash(text) == 13_399_343_932_144_152_701,
      "\(ResponseStore.leaseHash(text))")
  }
}
