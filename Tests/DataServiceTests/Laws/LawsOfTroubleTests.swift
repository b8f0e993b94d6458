import CacheStore
@testable import DataService
import Dispatch
import FixtureServer
import DataServiceTesting
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// Laws 9 to 12: failures that stay apart, bytes that are verified, cancelling, and what is never written.
@Suite(
  "Laws 9 to 12: independent failures, verified bytes, cancelled means silent, forbidden is forbidden",
  .inTurn)
struct LawsOfTroubleTests {
  private static let url = "http://origin.test/item"

  struct Unusable: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let prepare: @Sendable (TemporaryStore) throws -> Void

    init(_ name: String, _ prepare: @escaping @Sendable (TemporaryStore) throws -> Void) {
      (testDescription, self.prepare) = (name, prepare)
    }
  }

  static let unusableStores: [Unusable] = [
    Unusable(
      "a folder in its place",
      { try FileManager.default.createDirectory(atPath: $0.path, withIntermediateDirectories: true) }),
    Unusable(
      "not a database",
      { try $0.folder.write(String(repeating: "not a database ", count: 100), to: "store.sqlite") }),
    Unusable(
      "another program's database",
      { try RawDatabase($0.path, create: true).execute("CREATE TABLE diary (entry TEXT)") }),
    Unusable(
      "a newer release's store",
      {
        try RawDatabase($0.path, create: true).execute(
          "CREATE TABLE t (x); PRAGMA application_id = 1128678216; PRAGMA user_version = 99")
      }),
  ]

  @Test("law 9: a store that cannot be used does not stop a fresh delivery", arguments: unusableStores)
  func unusableStore(store: Unusable) async throws {
    let fixture = try ServiceFixture.scripted { _, _ in .answer("fresh") }
    try store.prepare(fixture.store)
    let url = try #require(URL(string: Self.url))
    let deliveries = await fixture.deliveries(url)
    #expect(deliveries.map(\.outline) == ["fresh(fresh, new)"])
    #expect(deliveries.last?.kept != .yes)
    #expect(!fixture.warnings.isEmpty)
    let offline = await fixture.outline(url, policy: .storedOnly)
    #expect(offline == ["failure(store)"])
  }

  @Test func `law 9: a network that is down does not stop a stored delivery; only both leave nothing`()
    async throws
  {
    let origin = try FixtureServer(routes: ["/item": .ok("kept")])
    let fixture = try ServiceFixture()
    let url = origin.url("/item")
    #expect(await fixture.outline(url) == ["fresh(kept, new)"])
    origin.stop()
    #expect(await fixture.outline(url) == ["stored(kept)", "failure(refused, last kept)"])
    let other = origin.url("/never")
    #expect(await fixture.outline(other) == ["failure(refused)"])
    await fixture.service.close()
  }

  @Test func `law 9: a read-only store serves what it has and says so without a warning`() async throws {
    let transport = ScriptedTransport { _, number in .answer("body \(number)") }
    let store = try TemporaryStore()
    let url = try #require(URL(string: Self.url))
    let writer = try ServiceFixture(store: store, transport: transport)
    _ = await writer.outline(url)
    await writer.service.close()
    let reader = try ServiceFixture(store: store, transport: transport) { $0.store.isReadOnly = true }
    let deliveries = await reader.deliveries(url)
    #expect(deliveries.map(\.outline) == ["stored(body 1)", "fresh(body 2, changed)"])
    #expect(deliveries.last?.kept == .no(.readOnly))
    #expect(reader.warnings.isEmpty)
  }

  @Test(
    "law 9: where nobody could mark what an unsafe request changed, its answer comes, and one warning says so",
    arguments: [[], ["application/json"]])
  func uninvalidated(accepted: [String]) async throws {
    let transport = ScriptedTransport { request, _ in .answer(request.method == .post ? "done" : "kept") }
    let url = try #require(URL(string: Self.url))
    let fixture = try await ServiceFixture.impatient(transport, stored: url)
    let post = { (request: inout DataService.Request) in
      request.method = .post
      request.body = Data("change".utf8)
      request.acceptedMediaTypes = accepted
    }
    let outline = accepted.isEmpty ? "fresh(done, new)" : "failure(mediaType)"
    do {
      let holder = try RawDatabase(fixture.store.path)
      try holder.execute("BEGIN IMMEDIATE")
      #expect(await fixture.outline(url, configure: post) == [outline])
      #expect(fixture.warnings.map(\.kind) == [.store])
      #expect(try fixture.store.value("SELECT invalid FROM last_request") == 0)
    }
    #expect(await fixture.outline(url, configure: post) == [outline])
    #expect(try fixture.store.value("SELECT invalid FROM last_request") == 1)
    #expect(fixture.warnings.count == 1)
    await fixture.service.close()
  }

  @Test func `law 10: a row whose bytes do not match their checksum is a miss, removed and reported`()
    async throws
  {
    let fixture = try ServiceFixture.scripted { _, number in .answer("body \(number)") }
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    try fixture.store.execute("UPDATE chunk SET bytes = CAST(x'00' || substr(bytes, 2) AS BLOB)")
    #expect(await fixture.outline(url) == ["fresh(body 2, new)"])
    #expect(fixture.warnings.map(\.kind) == [.corrupt])
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(body 2)"])
  }

  @Test func `law 10: a damaged field is a miss too`() async throws {
    let fixture = try ServiceFixture.scripted { _, number in .answer("body \(number)", ["X-Note": "abc"]) }
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    try fixture.store.execute(
      "UPDATE last_request SET fields = CAST(replace(CAST(fields AS TEXT), 'abc', 'abd') AS BLOB)")
    #expect(await fixture.outline(url, policy: .storedOnly) == ["failure(notStored)"])
  }

  /// Overwrites the page through which a row is found by its request; the row itself stays whole.
  private func damageIndex(of store: TemporaryStore) throws {
    try store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    let root = try #require(
      try store.value("SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_last_request_1'")
        .integer)
    let pageBytes = try #require(try store.value("PRAGMA page_size").integer)
    var bytes = try store.folder.bytes(of: "store.sqlite")
    for place in Int((root - 1) * pageBytes)..<Int(root * pageBytes) { bytes[place] = 0xFF }
    try store.folder.write(bytes, to: "store.sqlite")
  }

  @Test("law 10: a damaged file is repaired by the load that meets it, which delivers what was carried over")
  func repairedWhileLooking() async throws {
    let first = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("kept") })
    let url = try #require(URL(string: Self.url))
    _ = await first.outline(url)
    await first.service.close()
    try damageIndex(of: first.store)
    let down = ScriptedTransport { _, _ throws(DataServiceError) in
      throw DataServiceError(.refused, "down")
    }
    let fixture = try ServiceFixture(store: first.store, transport: down)
    #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(kept)"])
    #expect(fixture.warnings.map(\.kind) == [.corrupt])
    #expect(fixture.warnings.first?.message.contains("1 response was carried over") == true)
    #expect(await fixture.outline(url) == ["stored(kept)", "failure(refused, last kept)"])
    #expect(fixture.warnings.count == 1)
    await fixture.service.close()
  }

  @Test func `law 10: a look-up in the middle of an exchange repairs a damaged file too`() async throws {
    let first = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("kept") })
    let url = try #require(URL(string: Self.url))
    _ = await first.outline(url)
    await first.service.close()
    try damageIndex(of: first.store)
    let fixture = try ServiceFixture(store: first.store)
    let core = fixture.service.core
    let prepared = try core.prepare(DataService.Request(url), policy: .storedThenFresh)
    #expect(try await core.store.lookup(prepared.key).rows.count == 1)
    #expect(fixture.warnings.map(\.kind) == [.corrupt])
    await fixture.service.close()
  }

  @Test func `law 10: a damaged file that was opened for reading only stays as it is`() async throws {
    let first = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("kept") })
    let url = try #require(URL(string: Self.url))
    _ = await first.outline(url)
    await first.service.close()
    try damageIndex(of: first.store)
    let before = try first.store.folder.bytes(of: "store.sqlite")
    let fixture = try ServiceFixture(store: first.store) { $0.store.isReadOnly = true }
    #expect(await fixture.outline(url, policy: .storedOnly) == ["failure(corrupt)"])
    await fixture.service.close()
    #expect(try first.store.folder.bytes(of: "store.sqlite") == before)
    #expect(try first.store.folder.names().allSatisfy { !$0.contains(".damaged-") })
  }

  @Test func `law 10: a later chunk that does not match ends the stream with corrupt, and no byte of it`()
    async throws
  {
    let body = String(repeating: "0123456789abcdef", count: 4_096)
    let transport = ScriptedTransport { _, _ in .answer(body) }
    let fixture = try ServiceFixture(transport: transport) { $0.store.chunkBytes = 16_384 }
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    try fixture.store.execute(
      "UPDATE chunk SET bytes = CAST(x'00' || substr(bytes, 2) AS BLOB) WHERE id % 1048576 = 2")
    var received = 0
    var thrown: DataServiceError.Kind?
    for await delivery in fixture.service.streams(for: fixture.request(url), policy: .storedOnly) {
      guard case .stored(let response) = delivery else { continue }
      do {
        for try await piece in response.value { received += piece.count }
      } catch {
        thrown = error.kind
      }
    }
    #expect(received == 32_768)
    #expect(thrown == .corrupt)
  }

  @Test func `law 11: cancelled means silent: nothing is delivered after cancel, and the row is untouched`()
    async throws
  {
    let asked = Gate()
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      if number > 1 {
        asked.open()
        await untilCancelled()
        throw DataServiceError(.cancelled, "cancelled")
      }
      return .answer("kept")
    }
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    let before = try fixture.store.rows("SELECT * FROM last_request")
    let queue = DispatchQueue(label: "callbacks")
    let after = Mutex(0)
    let isCancelled = Mutex(false)
    let load = fixture.service.load(fixture.request(url), queue: queue) { _ in
      if isCancelled.withLock({ $0 }) { after.withLock { $0 += 1 } }
    }
    await asked.wait()
    await onQueue(queue) {
      load.cancel()
      isCancelled.withLock { $0 = true }
    }
    await load.finished()
    await onQueue(queue) {}
    #expect(after.withLock { $0 } == 0)
    #expect(try fixture.store.rows("SELECT * FROM last_request") == before)
  }

  @Test func `law 11: a delivery already on its way to the queue is not made after cancel`() async throws {
    let fixture = try ServiceFixture.scripted { _, _ in .answer("body") }
    let url = try #require(URL(string: Self.url))
    _ = await fixture.outline(url)
    let queue = DispatchQueue(label: "callbacks")
    let isBusy = Gate()
    let hasDelivered = Gate()
    let mayGoOn = Gate()
    let load = Mutex<DataService.Load?>(nil)
    // The queue is in the middle of something else, which then cancels; both deliveries wait behind it.
    queue.async {
      isBusy.open()
      mayGoOn.wait()
      load.withLock { $0 }?.cancel()
    }
    await isBusy.wait()
    let begun = fixture.service.load(fixture.request(url), queue: queue) { _ in hasDelivered.open() }
    load.withLock { $0 = begun }
    // All is handed to the queue; `begun.finished()` would wait for the queue too.
    await begun.task.finished()
    mayGoOn.open()
    await onQueue(queue) {}
    #expect(!hasDelivered.isOpen)
  }

  @Test func `law 11: one load's cancel does not stop the exchange another load shares`() async throws {
    let mayAnswer = Gate()
    let fixture = try ServiceFixture.scripted { _, _ async throws(DataServiceError) in
      await mayAnswer.wait()
      return .answer("shared")
    }
    let url = try #require(URL(string: Self.url))
    let queue = DispatchQueue(label: "callbacks")
    let cancelled = fixture.service.load(fixture.request(url), queue: queue) { _ in
      Issue.record("delivered after cancel")
    }
    async let other = fixture.deliveries(url)
    await fixture.traced("request to")
    await fixture.traced("joining")
    cancelled.cancel()
    mayAnswer.open()
    #expect(await other.map(\.outline) == ["fresh(shared, new)"])
    #expect(fixture.requests.count == 1)
  }

  @Test func `law 12: forbidden is forbidden: no-store on request, response or a redirect leaves no byte`()
    async throws
  {
    let marker = "MARKER-7f3a"
    let origin = try FixtureServer(routes: [
      "/response": .ok(marker, ["Cache-Control": "no-store", "X-Mark": marker]),
      "/plain": .ok(marker),
      "/hop": .redirect(to: "/plain", ["Cache-Control": "no-store"]),
    ])
    let fixture = try ServiceFixture()
    for (path, fields) in [
      ("/response", HTTPFields()), ("/plain", ["Cache-Control": "no-store"]), ("/hop", [:]),
    ] {
      let deliveries = await fixture.deliveries(origin.url(path)) { $0.fields = fields }
      #expect(deliveries.map(\.outline) == ["fresh(\(marker), new)"], "\(path)")
      #expect(deliveries.last?.kept != .yes, "\(path)")
    }
    await fixture.service.close()
    #expect(try !fixture.store.filesContain(marker))
  }

  @Test func `law 12: no-store is kept where the caller asked for that request to be kept anyway`()
    async throws
  {
    let fixture = try ServiceFixture.scripted { _, _ in .answer("kept", ["Cache-Control": "no-store"]) }
    let url = try #require(URL(string: Self.url))
    let kept = await fixture.deliveries(url) { $0.keepsAnyway = true }
    #expect(kept.last?.kept == .yes)
    // A later load without it is given the stored row, and leaves it as it is.
    let later = await fixture.deliveries(url)
    #expect(later.map(\.outline) == ["stored(kept)", "fresh(kept, unchanged)"])
    #expect(later.last?.kept == .no(.noStore))
  }

  @Test func `law 12: secrets of the request are never written, and still tell requests apart`() async throws
  {
    let transport = ScriptedTransport { request, _ in
      .answer(
        request.fields["Authorization"] ?? request.fields["X-Api-Key"] ?? "none",
        ["Set-Cookie": "SECRET-cookie"])
    }
    let fixture = try ServiceFixture(transport: transport)
    let url = try #require(
      URL(string: "http://user:SECRET-word@origin.test/item?access_token=SECRET-token&page=1"))
    let plain = try #require(URL(string: Self.url))
    // The answers hold no secret: only what the store itself adds is looked at.
    let silent = ScriptedTransport { _, number in .answer("answer \(number)", ["Set-Cookie": "SECRET-cookie"])
    }
    let other = try ServiceFixture(transport: silent)
    _ = await other.outline(url)
    for secret in ["SECRET-a", "SECRET-b"] {
      _ = await other.outline(plain) { $0.fields = ["Authorization": "Bearer \(secret)"] }
      _ = await other.outline(plain) { $0.fields = ["X-Api-Key": secret] }
      _ = await other.outline(plain) { $0.fields = ["Cookie": "id=\(secret)"] }
    }
    await other.service.close()
    #expect(try other.store.value("SELECT count(*) FROM account WHERE name LIKE 'auto:%'") == 7)
    #expect(try !other.store.filesContain("SECRET"))
    // And no request of one account is answered with another's row.
    #expect(await fixture.outline(plain) { $0.fields = ["X-Api-Key": "a"] } == ["fresh(a, new)"])
    #expect(await fixture.outline(plain) { $0.fields = ["X-Api-Key": "b"] } == ["fresh(b, new)"])
    #expect(await fixture.outline(plain, policy: .storedOnly) == ["failure(notStored)"])
  }

  @Test
  func `law 12: every field on the secret list partitions and is not written, those that a program adds too`()
    async throws
  {
    let transport = ScriptedTransport { _, number in .answer("answer \(number)") }
    let fixture = try ServiceFixture(transport: transport) {
      $0.secrets.fields.insert("x-tenant-word")
      $0.secrets.parameters.insert("ticket")
    }
    let url = try #require(URL(string: Self.url))
    let names = SecretList().fields.union(["Authorization", "Cookie", "Proxy-Authorization", "X-Tenant-Word"])
    for name in names.sorted() {
      var seen: [String] = []
      for secret in ["SECRET-a", "SECRET-b"] {
        let fields: HTTPFields = [name.uppercased(): secret]
        #expect(
          await fixture.outline(url, policy: .storedOnly) { $0.fields = fields } == ["failure(notStored)"],
          "\(name)")
        seen += await fixture.outline(url) { $0.fields = fields }
        #expect(
          await fixture.outline(url, policy: .storedOnly) { $0.fields = fields }.first?.hasPrefix("stored")
            == true, "\(name), \(secret)")
      }
      #expect(Set(seen).count == 2, "\(name)")
    }
    for parameter in SecretList().parameters.union(["Ticket"]).sorted() {
      for secret in ["SECRET-a", "SECRET-b"] {
        let secret = try #require(URL(string: "\(Self.url)?\(parameter)=\(secret)"))
        #expect(await fixture.outline(secret).first?.hasPrefix("fresh") == true, "\(parameter)")
      }
    }
    await fixture.service.close()
    #expect(
      try fixture.store.value("SELECT count(*) FROM account WHERE name LIKE 'auto:%'").integer
        == Int64(names.count * 2))
    #expect(try !fixture.store.filesContain("SECRET"))
  }

  private func onQueue(_ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      queue.async {
        body()
        continuation.resume()
      }
    }
  }
}

/// Returns when the task is cancelled.
private func untilCancelled() async {
  let gate = Gate()
  await withTaskCancellationHandler {
    await gate.wait()
  } onCancel: {
    gate.open()
  }
}
