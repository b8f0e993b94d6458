import CacheStore
import FoundationEssentials
import TestSupport
import Testing
import TestTurns

@Suite("Operations of the store", .inTurn) struct OperationTests {
  // MARK: Freshening

  @Test func `a 304 merges fields and times into the row and leaves its body`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let (row, body) = try #require(try await store.put("kept", for: .page, at: 1).row)
    #expect(try await store.freshen(freshening(row, body, at: 2)))
    let fresh = try #require(try store.lookupNow(.page).rows.first)
    #expect(fresh.fields["ETag"] == "\"fresh\"")
    #expect(fresh.receivedAt == 21 && fresh.requestedAt == 20 && fresh.started == .at(2))
    #expect(fresh.changedAt == 1_000_001, "the body did not become another")
    #expect(try await store.body(of: .page) == "kept")
  }

  @Test func `a 304 for a body that was replaced in place meanwhile changes nothing`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let (row, body) = try #require(try await store.put("v1", for: .page, at: 1).row)
    // An exchange that began before the validating one, and ended before it.
    let second = try #require(try await store.put("v2", for: .page, at: 2).row).body
    #expect(second.id == body.id, "rewritten in place, so that the identifier alone does not tell")
    #expect(try await !store.freshen(freshening(row, body, at: 3)))
    #expect(try store.lookupNow(.page).rows.first?.fields["ETag"] == "\"2\"")
    #expect(
      try await store.put("", for: .page, at: 4) { $0.body = .sameAs(body) } == .superseded,
      "the same for sameAs")
  }

  @Test func `a 304 for a row that is gone says so`() async throws {
    let fixture = try StoreFixture()
    let (row, body) = try #require(try await fixture.store.put("v1", for: .page, at: 1).row)
    _ = try await fixture.store.remove(rowID: row, started: .at(2))
    #expect(try await !fixture.store.freshen(freshening(row, body, at: 3)))
    #expect(try fixture.store.freshenNow(freshening(row, body, at: 3)) == false)
  }

  @Test func `the same body again is not written again`() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let store = fixture.store
    let (row, body) = try #require(try await store.put(pattern(3000), for: .page).row)
    let result = try await store.put("", for: .page, at: 2) {
      $0.body = .sameAs(body)
      $0.changedAt = 5
    }
    #expect(result == .stored(rowID: row, body: body))
    let found = try #require(try store.lookupNow(.page).rows.first)
    #expect(found.body.id == body.id && found.changedAt == 5)
    #expect(try await store.wholeBody(found) == pattern(3000))
  }

  // MARK: Long bodies

  @Test func `a body arrives chunk by chunk, and nobody sees it before the row is switched`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    let account = try await store.accountID(named: "")
    let body = try await store.beginBody(accountID: account)
    for part in 0..<5 { try await body.append(pattern(1000, seed: UInt8(part))) }
    #expect(body.length == 5000 && body.chunkCount == 5)
    #expect(try store.lookupNow(.page).rows.isEmpty)
    _ = try await store.put("", for: .page) { $0.body = .unfinished(body) }
    let row = try #require(try store.lookupNow(.page).rows.first)
    var expected = Data()
    for part in 0..<5 { expected += pattern(1000, seed: UInt8(part)) }
    #expect(try await store.wholeBody(row) == expected)
  }

  @Test func `a body of which nothing came is an empty one`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    for instant in 1...2 {
      let body = try await fixture.store.beginBody(accountID: account)
      _ = try await fixture.store.put("", for: .page, at: Int64(instant)) { $0.body = .unfinished(body) }
      let found = try fixture.store.lookupNow(.page)
      #expect(found.damaged == 0)
      #expect(try #require(found.rows.first).body.isWhole)
      #expect(try await fixture.store.body(of: .page) == "")
    }
    await fixture.store.performMaintenance(budget: .seconds(60))
    #expect(try fixture.number("SELECT count(*) FROM body") == 1)
  }

  @Test func `a cut-off download is resumed by another process, and by one at a time`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let partial = UnfinishedBody.Partial(
      key: .page, variant: "accept: x", url: RequestKey.page.target,
      fields: ["ETag": "\"a\"", "Content-Type": "x/y"], strongETag: "\"a\"", wholeLength: 2000)
    var body: UnfinishedBody? = try await fixture.store.beginBody(accountID: account, partial: partial)
    try await body?.append(pattern(1000))
    let other = fixture.another()
    #expect(
      try await other.partialBody(accountID: account, key: partial.key) == nil, "it is being received")
    body = nil
    let resumed = try #require(try await other.partialBody(accountID: account, key: partial.key))
    #expect(resumed.partial == partial && resumed.body.length == 1000)
    try await resumed.body.append(pattern(1000, seed: 1))
    _ = try await other.put("", for: .page) { $0.body = .unfinished(resumed.body) }
    let row = try #require(try fixture.store.lookupNow(.page).rows.first)
    #expect(try await fixture.store.wholeBody(row) == pattern(1000) + pattern(1000, seed: 1))
    #expect(try await other.partialBody(accountID: account, key: partial.key) == nil)
  }

  @Test func `a damaged partial download is given up`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let partial = UnfinishedBody.Partial(
      key: .page, url: "https://example.org/", strongETag: "\"a\"", wholeLength: nil)
    do {
      let body = try await fixture.store.beginBody(accountID: account, partial: partial)
      try await body.append(pattern(1000))
    }
    try fixture.sql("UPDATE chunk SET bytes = x'00'")
    #expect(try await fixture.store.partialBody(accountID: account, key: partial.key) == nil)
    await fixture.store.performMaintenance(budget: .seconds(60))
    #expect(try fixture.number("SELECT count(*) FROM body") == 0)
  }

  @Test func `bodies that nobody finishes are collected, those being received are not`() async throws {
    let clock = TestClock()
    let fixture = try StoreFixture { $0.now = { clock.now } }
    let account = try await fixture.store.accountID(named: "")
    let alive = try await fixture.store.beginBody(accountID: account)
    try await alive.append(pattern(10))
    let resumable = UnfinishedBody.Partial(
      key: RequestKey(target: "t"), url: "t", strongETag: "\"a\"", wholeLength: nil)
    for partial in [nil, resumable] {
      let body = try await fixture.store.beginBody(accountID: account, partial: partial)
      try await body.append(pattern(10))
    }
    await fixture.another().performMaintenance(budget: .seconds(60))
    #expect(try fixture.number("SELECT count(*) FROM body") == 2, "one is being received, one can be resumed")
    clock.now += 8 * 24 * 3600 * 1000
    await fixture.another().performMaintenance(budget: .seconds(60))
    #expect(try fixture.number("SELECT count(*) FROM body") == 1)
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 1)
    try await alive.append(pattern(10))
  }

  @Test func `a body over half the limit is not kept`() async throws {
    let fixture = try StoreFixture { $0.maximumBytes = 1 << 20 }
    await #expect { try await fixture.store.put(Data(count: 600_000), for: .page) } throws: {
      ($0 as? CacheStoreError)?.reason == .full
    }
    #expect(try fixture.store.lookupNow(.page).rows.isEmpty)
    await fixture.store.performMaintenance(budget: .seconds(60))
    #expect(try fixture.number("SELECT count(*) FROM body") == 0)
  }

  // MARK: Accounts, leases, pauses

  @Test func `an account has one identifier until it is signed out, and then another`() async throws {
    let fixture = try StoreFixture()
    let first = try await fixture.store.accountID(named: "alice")
    #expect(try await fixture.another().accountID(named: "alice") == first)
    try await fixture.store.signOut(accountName: "alice")
    #expect(try await fixture.store.accountID(named: "alice") > first)
  }

  @Test func `what comes late for a signed-out account is not stored`() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 1000 }
    let store = fixture.store
    let account = try await store.accountID(named: "alice")
    let key = RequestKey(account: "alice", target: RequestKey.page.target)
    _ = try await store.put(pattern(3000), for: key)
    let row = try #require(try store.lookupNow(key).rows.first)
    let body = try await store.beginBody(accountID: account)
    try await body.append(pattern(10))
    try await fixture.another().signOut(accountName: "alice")
    let late: [(String, () async throws -> Void)] = [
      ("short", { _ = try await store.put("late", for: key, at: 9, accountID: account) }),
      ("long", { _ = try await store.put(pattern(3000), for: key, at: 9, accountID: account) }),
      ("chunk", { try await body.append(pattern(10)) }),
      (
        "finish",
        { _ = try await store.put("", for: key, at: 9, accountID: account) { $0.body = .unfinished(body) } }
      ),
      ("now", { _ = try store.overwriteNow(store.write(Data(), for: key, at: 9, accountID: account)) }),
      (
        "pause",
        {
          let pause = Pause(heard: StartMark(boot: "b", nanoseconds: 1), milliseconds: 1)
          try await store.pause(accountID: account, responder: "o", pause)
        }
      ),
      ("invalidate", { try await store.invalidate(accountID: account, targets: ["t"], started: .at(1)) }),
      ("read", { _ = try await store.chunk(1, of: row.body.id, accountID: account) }),
    ]
    for (name, attempt) in late {
      await #expect("\(name)") { try await attempt() } throws: {
        ($0 as? CacheStoreError)?.reason == .signedOut
      }
    }
    #expect(try store.lookupNow(key).accountID == nil)
  }

  @Test func `a lease has one holder, and is free again when let go of`() async throws {
    let fixture = try StoreFixture()
    let other = fixture.another()
    let lease = try #require(try fixture.store.tryLease(7))
    #expect(try fixture.store.tryLease(7) == nil)
    #expect(try other.tryLease(7) == nil)
    #expect(try other.tryLease(11) != nil)
    lease.release()
    do {
      let second = try #require(try other.tryLease(7))
      #expect(try fixture.store.tryLease(7) == nil)
      _ = second
    }
    #expect(try fixture.store.tryLease(7) != nil)
  }

  @Test func `a pause is seen by every process and belongs to the account`() async throws {
    let fixture = try StoreFixture()
    let origin = "https://example.org:8443"
    func mark(_ seconds: Int64, boot: String = "b") -> StartMark {
      StartMark(boot: boot, nanoseconds: seconds * 1_000_000_000)
    }
    #expect(try fixture.store.pauseNow(accountName: "", responder: origin) == nil)
    #expect(try await fixture.store.pauses(at: mark(0)).isEmpty)
    let account = try await fixture.store.accountID(named: "")
    let alice = try await fixture.store.accountID(named: "alice")
    try await fixture.store.pause(
      accountID: account, responder: origin, Pause(heard: mark(1), milliseconds: 5_000))
    let pause = Pause(heard: mark(2), milliseconds: 9_000)
    try await fixture.store.pause(accountID: account, responder: origin, pause)
    #expect(try fixture.another().pauseNow(accountName: "", responder: origin) == pause)
    #expect(try fixture.store.pauseNow(accountName: "alice", responder: origin) == nil)
    #expect(try fixture.store.pauseNow(accountName: "", responder: origin + " insecure") == nil)
    try await fixture.store.pause(accountID: alice, responder: origin + " insecure", pause)
    let listed = try await fixture.another().pauses(at: mark(3))
    #expect(listed.map(\.account) == ["", "alice"] && listed.allSatisfy { $0.origin == origin })
    #expect(try await fixture.store.pauses(at: mark(12)).isEmpty)
    #expect(try await fixture.store.endPauses(at: mark(3)) { $0.account == "alice" } == 1)
    #expect(try fixture.store.pauseNow(accountName: "alice", responder: origin + " insecure") == nil)
    #expect(try fixture.store.pauseNow(accountName: "", responder: origin) == pause)
    // What is over goes with the next one.
    try await fixture.store.pause(
      accountID: alice, responder: "http://a", Pause(heard: mark(1, boot: "c"), milliseconds: 1))
    #expect(try fixture.number("SELECT count(*) FROM pause") == 1)
  }

  @Test func `a pause lasts an hour at most, within one boot, and no wall clock decides`() {
    let hour: Int64 = 3_600_000
    let heard = StartMark(boot: "b", nanoseconds: 5_000_000_000)
    func left(_ milliseconds: Int64, after nanoseconds: Int64, boot: String = "b") -> Int64? {
      Pause(heard: heard, milliseconds: milliseconds).remaining(
        at: StartMark(boot: boot, nanoseconds: heard.nanoseconds + nanoseconds))
    }
    #expect(left(9, after: 0) == 9 && left(9, after: 1) == 9 && left(9, after: 8_999_999) == 1)
    #expect(left(9, after: 9_000_000) == nil && left(0, after: 0) == nil && left(-1, after: 0) == nil)
    #expect(left(.max, after: 0) == hour && left(.max, after: hour * 1_000_000) == nil)
    #expect(left(9, after: 0, boot: "c") == nil, "another boot")
    #expect(left(9, after: -1) == nil, "another time namespace")
    let odd = Pause(heard: StartMark(boot: "b", nanoseconds: .min), milliseconds: 9)
    #expect(odd.remaining(at: StartMark(boot: "b", nanoseconds: .max)) == nil)
  }

  @Test func `a store made before there were pauses and partial downloads is read, and gets their tables`()
    async throws
  {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    try fixture.sql("DROP TABLE pause")
    try fixture.sql("DROP TABLE partial")
    let later = fixture.another()
    let found = try later.lookupNow(.page, beforeAsking: "http://a")
    #expect(found.rows.count == 1 && found.outlook == ResponseStore.Outlook())
    let account = try #require(found.accountID)
    #expect(later.outlookNow(accountID: account, responder: "a", target: "t") == ResponseStore.Outlook())
    #expect(try later.pauseNow(accountName: "", responder: "a") == nil)
    #expect(try await later.partialBody(accountID: account, key: .page) == nil)
    let now = StartMark(boot: "b", nanoseconds: 1)
    #expect(await later.findings(at: now).allSatisfy { $0.severity == .fine })
    try await later.pause(accountID: account, responder: "a", Pause(heard: now, milliseconds: 5))
    #expect(try later.pauseNow(accountName: "", responder: "a")?.milliseconds == 5)
    #expect(await later.findings(at: now).contains { $0.subject == "pause" && $0.severity == .fine })
    do {
      let body = try await later.beginBody(
        accountID: account, partial: .init(key: .page, url: "u", strongETag: "\"1\"", wholeLength: nil))
      try await body.append(pattern(10))
    }
    #expect(try await later.partialBody(accountID: account, key: .page)?.partial.url == "u")
    #expect(await later.findings(repair: true, at: now).contains { $0.severity == .repaired })
    #expect(try later.pauseNow(accountName: "", responder: "a") == nil)
  }

  @Test func `a cut-off download is another request's as little as its row`() async throws {
    let fixture = try StoreFixture()
    let account = try await fixture.store.accountID(named: "")
    let other = try await fixture.store.accountID(named: "alice")
    let keys = ["", "insecure", "unix=2:/a", "host=1:b"].map { RequestKey(target: "t", extra: $0) }
    for key in keys {
      let body = try await fixture.store.beginBody(
        accountID: account, partial: .init(key: key, url: key.extra, strongETag: "\"1\"", wholeLength: nil))
      try await body.append(pattern(10))
    }
    for key in keys {
      let found = try await fixture.store.partialBody(accountID: account, key: key)
      #expect(found?.partial.url == key.extra)
      found?.body.end()
      #expect(try await fixture.store.partialBody(accountID: other, key: key) == nil)
    }
    #expect(
      try await fixture.store.partialBody(accountID: account, key: RequestKey(target: "t", extra: "x")) == nil
    )
    #expect(try await fixture.store.partialBody(accountID: account, key: RequestKey(target: "u")) == nil)
  }

  @Test func `what matters before an origin is asked comes in one look`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    func ahead(_ origin: String, _ target: String) throws -> ResponseStore.Outlook? {
      try store.lookupNow(RequestKey(target: target), beforeAsking: origin).outlook
    }
    let pause = Pause(heard: StartMark(boot: "b", nanoseconds: 1), milliseconds: 5)
    let account = try await store.accountID(named: "")
    func outlook(_ origin: String, _ target: String, account id: Int64? = nil) -> ResponseStore.Outlook {
      store.outlookNow(accountID: id ?? account, responder: origin, target: target)
    }
    #expect(outlook("a", "t") == ResponseStore.Outlook())
    #expect(try ahead("a", "t") == ResponseStore.Outlook())
    try await fixture.another().pause(accountID: account, responder: "a", pause)
    let body = try await fixture.another().beginBody(
      accountID: account,
      partial: .init(key: RequestKey(target: "t"), url: "t", strongETag: "\"1\"", wholeLength: nil))
    #expect(outlook("a", "t").pause == pause && outlook("a", "t").mayHavePartialBody)
    #expect(try ahead("a", "t") == outlook("a", "t"))
    #expect(outlook("b", "u") == ResponseStore.Outlook())
    #expect(try ahead("b", "u") == ResponseStore.Outlook())
    #expect(try store.lookupNow(RequestKey(target: "t")).outlook == nil, "nobody wants to ask")
    #expect(outlook("a", "t", account: account + 1) == ResponseStore.Outlook())
    store.suspendForTesting()
    #expect(outlook("a", "t") == ResponseStore.Outlook(), "a store in trouble holds no exchange up")
    store.resumeForTesting()
    withExtendedLifetime(body) {}
  }

  @Test func `the data version changes when somebody commits, and only then`() async throws {
    let fixture = try StoreFixture()
    let watching = fixture.another()
    let none = try watching.dataVersionNow()
    #expect(try watching.dataVersionNow() == none)
    _ = try await fixture.store.put("a", for: .page)
    let first = try watching.dataVersionNow()
    #expect(first != none)
    #expect(try watching.dataVersionNow() == first)
    _ = try await fixture.store.put("b", for: .page, at: 2)
    #expect(try watching.dataVersionNow() != first)
    let own = try fixture.store.dataVersionNow()
    _ = try await fixture.store.put("c", for: .page, at: 3)
    #expect(try fixture.store.dataVersionNow() != own, "the store's own commits count too")
  }

  @Test func `a closed store says so`() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.store.put("a", for: .page)
    await fixture.store.close()
    await #expect { try await fixture.store.lookup(.page) } throws: {
      ($0 as? CacheStoreError)?.reason == .closed
    }
    await #expect { try await fixture.store.accountID(named: "") } throws: {
      ($0 as? CacheStoreError)?.reason == .closed
    }
  }

  // MARK: Lists and removal

  @Test func `rows are selected by account, prefix, host, tag, age, size, pin and kind`() async throws {
    let fixture = try StoreFixture()
    let store = fixture.store
    func put(_ url: String, account: String = "", _ change: (inout ResponseStore.Write) -> Void = { _ in })
      async throws
    {
      _ = try await store.put("12345", for: RequestKey(account: account, target: url), change)
    }
    try await put("https://a.example/x/1") { $0.tags = ["news", "old"] }
    try await put("https://a.example/x/2") { $0.head.receivedAt = 5 }
    try await put("https://a.example/y") { $0.isPinned = true }
    try await put("http://a.example/") { $0.body = .bytes(Data(count: 100)) }
    try await put("https://a.example.org/x/1", account: "alice")
    try await put("https://b.example/") { $0.isGood = false }
    func select(_ change: (inout EntrySelection) -> Void) async throws -> [String] {
      var selection = EntrySelection.all
      change(&selection)
      return try await store.entries(selection).map { String($0.key.target.drop { $0 != "/" }.dropFirst(2)) }
    }
    #expect(try await store.entries().count == 6)
    #expect(try await select { $0.accounts = ["alice"] } == ["a.example.org/x/1"])
    #expect(try await select { $0.accounts = ["", "bob"] }.count == 5)
    #expect(try await select { $0.accounts = [] }.isEmpty)
    #expect(try await select { $0.prefix = "https://a.example/x/" } == ["a.example/x/1", "a.example/x/2"])
    #expect(try await select { $0.host = "a.example" }.count == 4)
    #expect(try await select { $0.tag = "news" } == ["a.example/x/1"])
    #expect(try await select { $0.receivedBefore = 6 } == ["a.example/x/2"])
    #expect(try await select { $0.minimumBytes = 100 } == ["a.example/"])
    #expect(try await select { $0.isPinned = true } == ["a.example/y"])
    #expect(try await select { $0.isGood = false } == ["b.example/"])
    let tagged = try #require(try await store.entries().first { !$0.tags.isEmpty })
    #expect(tagged.tags == ["news", "old"] && tagged.isSound && tagged.response.status == 200)
    var selection = EntrySelection.all
    selection.host = "a.example"
    #expect(try await store.remove(selection, started: .at(9)) == 4)
    #expect(try await store.entries().count == 2)
    #expect(try fixture.number("SELECT count(*) FROM chunk") == 2)
  }

  @Test func `removing many and long rows leaves nothing of them`() async throws {
    let fixture = try StoreFixture { $0.chunkBytes = 100_000 }
    for number in 0..<150 {
      _ = try await fixture.store.put("x", for: RequestKey(target: "https://example.org/\(number)"))
    }
    _ = try await fixture.store.put(Data(count: 3_000_000), for: .page)
    #expect(try await fixture.store.remove(.all, started: .at(2)) == 151)
    for table in ["last_request", "body", "chunk", "last_use", "tag"] {
      #expect(try fixture.number("SELECT count(*) FROM \(table)") == 0)
    }
  }

  @Test func `deliveries are counted in memory and written together`() async throws {
    let fixture = try StoreFixture()
    let row = try #require(try await fixture.store.put("a", for: .page).row).rowID
    let account = try await fixture.store.accountID(named: "")
    var count = UsageCount()
    count.stored = 1
    count.savedBytes = 10
    count.anticipations.committed = 1
    count.anticipations.leadMilliseconds = 90
    for _ in 0..<3 { fixture.store.count(accountID: account, host: "example.org", count) }
    fixture.store.count(accountName: "", host: "example.org", count)
    fixture.store.count(accountName: "nobody", host: "example.org", count)
    fixture.store.markUsed(rowID: row, atMilliseconds: 2_000_000)
    #expect(try fixture.number("SELECT count(*) FROM usage") == 0)
    await fixture.store.performMaintenance()
    #expect(try fixture.number("SELECT stored FROM usage") == 4)
    #expect(try fixture.number("SELECT saved_bytes FROM usage") == 40)
    #expect(try fixture.number("SELECT count(*) FROM usage") == 1)
    let ahead = try await fixture.store.statistics().parts.first?.deliveries.anticipations
    #expect(ahead?.committed == 4 && ahead?.leadMilliseconds == 360)
    #expect(try fixture.number("SELECT used_at_ms FROM last_use") == 2_000_000)
  }
}
