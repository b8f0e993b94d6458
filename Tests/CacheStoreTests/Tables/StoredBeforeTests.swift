import CacheStore
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// What an earlier release stored is read and written by this one. The file was made by `Fixtures/make.py`, and stays.
@Suite("A store that was written before", .inTurn) struct StoredBeforeTests {
  private static let origin = "http://127.0.0.1:45093"

  /// What is known of a row; its times and the like are compared with the columns.
  private struct Row: Hashable {
    var target: String
    var account = ""
    var method = "GET"
    var extra = ""
    var isGood = true
    var variant = ""
    var vary = ""
    var responseURL: String?
    var status = 200
    var isInvalid = false
    var isPinned = false
    var tags: [String] = []
    var body: Data

    init(_ target: String, _ body: Data, _ change: (inout Row) -> Void = { _ in }) {
      self.target = target.hasPrefix("/") ? origin + target : target
      self.body = body
      change(&self)
    }

    init(_ target: String, _ body: String, _ change: (inout Row) -> Void = { _ in }) {
      self.init(target, Data(body.utf8), change)
    }

    init(_ entry: StoredEntry, _ row: StoredResponse, body: Data) {
      target = entry.key.target
      account = entry.key.account
      method = entry.key.method
      extra = entry.key.extra
      isGood = row.isGood
      variant = row.variant
      vary = row.vary
      responseURL = row.responseURL
      status = row.status
      isInvalid = row.isInvalid
      isPinned = row.isPinned
      tags = entry.tags
      self.body = body
    }
  }

  private static let long = Data((0..<2500).map { UInt8($0 % 251) })
  private static let rows: Set<Row> = [
    Row("/short", "short\n") {
      $0.tags = ["first", "second"]
      $0.isPinned = true
    },
    Row("/empty", ""),
    Row("/of-alice", "for alice\n") {
      $0.account = "alice"
      $0.tags = ["first"]
    },
    Row("/in-languages", "in de\n") {
      $0.variant = "accept-language: de"
      $0.vary = "accept,accept-language"
    },
    Row("/in-languages", "in en\n") {
      $0.variant = "accept-language: en"
      $0.vary = "accept,accept-language"
    },
    Row("/moved", "short\n") { $0.responseURL = "\(origin)/short" },
    Row("/moved", "") {
      $0.extra = "no-location"
      $0.isGood = false
      $0.status = 301
    },
    Row("/missing", "missing\n") {
      $0.isGood = false
      $0.status = 404
    },
    Row("/changed", "before the change\n") { $0.isInvalid = true },
    Row("/search", "asked: question\n") {
      $0.method = "POST"
      $0.extra = "body=32:03f79989c5bcc3cac7aaa54693feaeb1"
    },
    Row("key:named", "under a key\n") { $0.responseURL = "\(origin)/named" },
    Row("/long", long),
  ]

  /// A copy of the file, with a store on it.
  private static func copy() throws -> StoreFixture {
    let folder = "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/") + "/Fixtures"
    let fixture = try StoreFixture()
    let path = try fixture.files.write(
      Data(contentsOf: URL(filePath: "\(folder)/schema-1.sqlite")), to: "store.sqlite")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    return fixture
  }

  /// Every row as it is read: through the list, the look-up and the chunks of its body.
  private static func read(_ store: ResponseStore) async throws -> [(row: Row, response: StoredResponse)] {
    var read: [(Row, StoredResponse)] = []
    for entry in try await store.entries() {
      #expect(entry.isSound, "\(entry.key.target)")
      let found = try await store.lookup(entry.key)
      #expect(found.damaged == 0, "\(entry.key.target)")
      let response = try #require(found.rows.first { $0.id == entry.rowID }, "\(entry.key.target)")
      read.append((Row(entry, response, body: try await store.wholeBody(response)), response))
    }
    return read
  }

  @Test func `every row is found whole, with its body, tags and pin`() async throws {
    let fixture = try Self.copy()
    let read = try await Self.read(fixture.store)
    #expect(read.count == Self.rows.count)
    for (row, _) in read where !Self.rows.contains(row) { Issue.record("read otherwise: \(row)") }
    #expect(Set(read.map(\.row)) == Self.rows)
  }

  @Test func `every head is what stands in its columns`() async throws {
    let fixture = try Self.copy()
    for (_, response) in try await Self.read(fixture.store) {
      let columns = try fixture.sql(
        """
        SELECT account_id, started_boot, started_ns, http_version, status, reason, fields, requested_at_ms, received_at_ms,
          changed_at_ms, exchange_ms, body_id, body_bytes FROM last_request WHERE id = \(response.id)
        """)
      #expect(
        columns == [
          [
            .integer(response.accountID), .text(response.started.boot),
            .integer(response.started.nanoseconds), .text(response.httpVersion),
            .integer(Int64(response.status)), .text(response.reason), .blob(response.fields.wire),
            .integer(response.requestedAt), .integer(response.receivedAt), .integer(response.changedAt),
            .integer(response.exchangeMilliseconds), .integer(response.body.id),
            .integer(response.body.length),
          ]
        ], "\(response.id)")
    }
    let short = try #require(
      try await fixture.store.lookup(RequestKey(target: "\(Self.origin)/short")).rows.first)
    #expect(short.fields["X-Name"] == "Jürgen", "ISO 8859-1, as it came")
    #expect(short.fields["ETag"] == "\"short\"")
  }

  @Test func `nothing is wrong with it, and nothing is left over`() async throws {
    let fixture = try Self.copy()
    let findings = await fixture.store.findings()
    #expect(findings.filter { $0.severity != .fine } == [])
    #expect(try fixture.remains() == 0)
  }

  @Test(arguments: ["/short", "/long"]) func `a row is overwritten, and keeps its tags and its pin`(
    target: String
  ) async throws {
    let fixture = try Self.copy()
    let key = RequestKey(target: Self.origin + target)
    let written = try await fixture.store.put("new", for: key) { $0.tags = ["third"] }
    #expect(written.row != nil)
    await fixture.store.close()

    var expected = Self.rows
    var old = try #require(expected.first { $0.target == key.target })
    expected.remove(old)
    old.body = Data("new".utf8)
    old.tags.append("third")
    expected.insert(old)
    #expect(Set(try await Self.read(fixture.another()).map(\.row)) == expected)
  }

  @Test(arguments: ["/short", "/long", "/changed"]) func `a row is freshened, and keeps its body`(
    target: String
  ) async throws {
    let fixture = try Self.copy()
    let key = RequestKey(target: Self.origin + target)
    let before = try #require(try await fixture.store.lookup(key).rows.first)
    let head = ReceivedHead(
      status: 304, fields: ["ETag": "\"new\""], started: StartMark(boot: "another boot", nanoseconds: 1),
      requestedAt: before.receivedAt + 5, receivedAt: before.receivedAt + 7)
    let freshening = ResponseStore.Freshening(rowID: before.id, body: before.body, head: head)
    #expect(try await fixture.store.freshen(freshening))
    await fixture.store.close()

    let store = fixture.another()
    let after = try #require(try await store.lookup(key).rows.first)
    #expect(after.fields == ["ETag": "\"new\""])
    #expect(after.requestedAt == before.receivedAt + 5 && after.receivedAt == before.receivedAt + 7)
    #expect(
      after.changedAt == before.changedAt && after.status == before.status && after.reason == before.reason)
    #expect(after.body == before.body && !after.isInvalid)
    let expected = Set(
      Self.rows.map { row in
        var row = row
        if row.target == key.target { row.isInvalid = false }
        return row
      })
    #expect(Set(try await Self.read(store).map(\.row)) == expected)
  }
}
