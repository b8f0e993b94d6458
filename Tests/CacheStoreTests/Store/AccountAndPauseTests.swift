import CacheStore
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("Accounts, leases and pauses", .inTurn) struct AccountAndPauseTests {
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

  @Test func `a lease has one holder, and is free again when it is released`() async throws {
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
    let fixture = try StoreFixture { $0.bootNow = { 3_000_000_000 } }
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

  @Test func `which pauses end is asked outside of the store, and one that is heard meanwhile stays`()
    async throws
  {
    let fixture = try StoreFixture { $0.bootNow = { 3_000_000_000 } }
    let (store, now) = (fixture.store, StartMark(boot: "b", nanoseconds: 3_000_000_000))
    let account = try await store.accountID(named: "")
    for origin in ["http://a", "http://b"] {
      try await store.pause(accountID: account, responder: origin, Pause(heard: now, milliseconds: 5_000))
    }
    let ended = try await store.endPauses(at: now) { pause in
      #expect(store.isWriting, "the connection is open, and free")
      let newer = "UPDATE pause SET heard_ns = heard_ns + 1 WHERE responder = 'http://b'"
      if pause.origin == "http://b" { #expect((try? fixture.sql(newer)) != nil) }
      return true
    }
    #expect(ended == 1)
    let later = StartMark(boot: "b", nanoseconds: now.nanoseconds + 1_000)
    #expect(try await store.pauses(at: later).map(\.responder) == ["http://b"])
  }

  @Test func `a pause that is recorded late ends none that was heard after it`() async throws {
    let now = Mutex<Int64>(3)
    let fixture = try StoreFixture { $0.bootNow = { now.withLock { $0 } * 1_000_000_000 } }
    func mark(_ seconds: Int64) -> StartMark { StartMark(boot: "b", nanoseconds: seconds * 1_000_000_000) }
    let account = try await fixture.store.accountID(named: "")
    let (early, late) = (
      Pause(heard: mark(1), milliseconds: 60_000), Pause(heard: mark(2), milliseconds: 30_000)
    )
    for responder in ["http://a", "http://b"] {
      try await fixture.store.pause(accountID: account, responder: responder, late)
    }
    try await fixture.store.pause(accountID: account, responder: "http://a", early)
    for responder in ["http://a", "http://b"] {
      #expect(try fixture.store.pauseNow(accountName: "", responder: responder) == late)
    }
    // Of one that was heard after the present no clock of this boot tells; it stands in nobody's way.
    now.withLock { $0 = 1 }
    try await fixture.store.pause(accountID: account, responder: "http://a", early)
    #expect(try fixture.store.pauseNow(accountName: "", responder: "http://a") == early)
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
}
