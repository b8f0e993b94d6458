import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// Sign-out as the service does it, with everything under way that can be.
@Suite("Sign-out: the bytes are gone", .inTurn) struct SignOutServiceTests {
  /// In every body, field, URL, tag and key of the account that goes.
  private static let mark = "s3cret"
  private static let overwrites = 420

  private static func url(_ number: Int) throws -> URL {
    try #require(URL(string: "http://origin.test/s3cret-path/\(number)?page=s3cret-page"))
  }

  private static func body(_ number: Int) -> String {
    String(repeating: "s3cret-body \(number) ", count: [8, 300, 2_000][number % 3])
  }

  @Test
  func `after 420 overwrites, with an exchange in flight and a reader in another process, no byte is left`()
    async throws
  {
    let isAsked = Gate()
    let mayAnswer = Gate()
    let transport = ScriptedTransport { request, number async throws(DataServiceError) in
      if request.url.path.hasSuffix("late") {
        isAsked.open()
        await mayAnswer.wait()
      }
      let isMarked = request.url.path.contains(Self.mark)
      return .answer(
        isMarked ? Self.body(number) : "bob's \(request.url.path)",
        [
          "ETag": "\"\(isMarked ? "s3cret-tag-" : "")\(number)\"",
          "X-Note": isMarked ? "s3cret-field" : "bob's",
        ])
    }
    let fixture = try ServiceFixture(transport: transport) { $0.store.chunkBytes = 16_384 }
    let service = fixture.service
    let bobs = try (0..<6).map { try #require(URL(string: "http://origin.test/plain/\($0)")) }
    try await fill(fixture, bobs)
    let before = try rows(of: "bob", fixture.store)
    #expect(before.count == bobs.count)
    #expect(try fixture.store.filesContain(Self.mark))

    // One more process that has the account's rows before it, and one exchange whose answer comes too late.
    let reader = try ChildProcess(
      BuiltProduct.path("StoreDriver"), ["read", fixture.store.path, try Self.url(1).absoluteString],
      input: nil)
    #expect(await reader.output.lines(1).first == "rows 1")
    let late = try #require(URL(string: "http://origin.test/s3cret-path/late"))
    async let inFlight = fixture.outline(late, policy: .freshOnly) { $0.account = .named("alice") }
    await isAsked.wait()

    try await service.signOut(.named("alice"))

    #expect(await inFlight == ["failure(signedOut)"])
    mayAnswer.open()
    reader.write(Array("store\nlook\n".utf8))
    #expect(await reader.output.lines(3).dropFirst() == ["refused signedOut", "rows 0"])
    try await expectNothingLeft(fixture.store)
    #expect(try rows(of: "bob", fixture.store) == before, "the other account's rows are whole")
    for url in bobs {
      let stored = await fixture.outline(url, policy: .storedOnly) { $0.account = .named("bob") }
      #expect(stored == ["stored(bob's \(url.path))"], "\(url)")
    }
    #expect(
      await fixture.outline(try Self.url(1), policy: .storedOnly) { $0.account = .named("alice") }
        == ["failure(notStored)"])

    reader.closeInput()
    _ = await reader.exit()
    await service.close()
    try await expectNothingLeft(fixture.store)
  }

  /// Overwrites the account's rows, another's now and then, with tags, own keys, variants and pins.
  private func fill(_ fixture: ServiceFixture, _ bobs: [URL]) async throws {
    for round in 0..<Self.overwrites {
      let outline = await fixture.outline(try Self.url(round % 60), policy: .freshOnly) { request in
        request.account = .named("alice")
        request.tags = ["s3cret-tag"]
        if round % 5 == 0 { request.key = "s3cret-key-\(round % 7)" }
        request.isPinned = round % 11 == 0
      }
      #expect(outline.count == 1 && outline.first?.hasPrefix("fresh(s3cret-body") == true)
      if round % 10 == 0 {
        _ = await fixture.outline(bobs[round / 10 % bobs.count], policy: .freshOnly) {
          $0.account = .named("bob")
        }
      }
    }
    // What stands beside the store from an earlier time goes too.
    for name in ["store.sqlite.damaged-20200101T000000Z", "store.sqlite.damaged-20200101T000000Z-wal"] {
      try fixture.store.folder.write("s3cret-body in an old file", to: name)
    }
  }

  private func rows(of account: String, _ store: TemporaryStore) throws -> [[SQLiteValue]] {
    try store.rows(
      """
      SELECT a.name, r.target, r.status, r.fields, r.checksum, c.bytes FROM last_request r
      JOIN account a ON a.id = r.account_id JOIN chunk c ON c.id = r.body_id << 20
      WHERE a.name = '\(account)' ORDER BY r.target
      """)
  }

  /// Looks through every file of the store, and one exported from it.
  private func expectNothingLeft(_ store: TemporaryStore) async throws {
    for account in ["alice", "bob"] {
      let run = try await ChildProcess.run(
        BuiltProduct.cachefetch(),
        [
          "export", "--store", store.path, "--account", account,
          store.folder.file("copy-of-\(account.count)"),
        ], environment: ["CACHEFETCH_TEST_TIMEOUTS": "1"])
      #expect(run.status == (account == "alice" ? 4 : 0), "\(account): \(run.errorText)")
    }
    for name in try store.folder.names() {
      let text = String(decoding: try store.folder.bytes(of: name), as: UTF8.self)
      for wanted in [Self.mark, "alice"] { #expect(!text.contains(wanted), "\(wanted) in \(name)") }
      #expect(!name.contains("damaged"), "\(name)")
    }
  }
}
