import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

/// Law 8 where no row is there yet: what is removed or invalidated while it is first asked for.
@Suite("Removed or invalidated while it is first asked for", .inTurn) struct RemovedMeanwhileTests {
  struct Choice: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let isMeant: Bool
    let select: @Sendable (inout EntrySelection) -> Void

    init(_ name: String, isMeant: Bool = true, _ select: @escaping @Sendable (inout EntrySelection) -> Void) {
      (testDescription, self.isMeant, self.select) = (name, isMeant, select)
    }
  }

  private static let target = "https://origin.test:8443/news/1"
  private static let now = Int64(Date().timeIntervalSince1970 * 1_000)

  static let choices: [Choice] = [
    Choice("all") { _ in },
    Choice("its key") { $0.key = RequestKey(account: "alice", target: target) },
    Choice("its target") { $0.targets = [target] },
    Choice("its prefix") { $0.prefix = "https://origin.test:8443/news/" },
    Choice("a prefix that is no whole host") { $0.prefix = "https://origin" },
    Choice("its host") { $0.host = "origin.test:8443" },
    Choice("its host with any port") { selection in
      selection.host = "origin.test"
      selection.isAnyPort = true
    },
    Choice("its account") { $0.accounts = ["bob", "alice"] },
    Choice("its tag") { $0.tag = "news" },
    Choice("what was received until now") { $0.receivedBeforeMilliseconds = now + 3_600_000 },
    Choice("another key", isMeant: false) { $0.key = RequestKey(account: "alice", target: target + "2") },
    Choice("another account's key", isMeant: false) { $0.key = RequestKey(target: target) },
    Choice("another prefix", isMeant: false) { $0.prefix = "https://origin.test/news/" },
    Choice("another host", isMeant: false) { $0.host = "origin.test" },
    Choice("another account", isMeant: false) { $0.accounts = [""] },
    Choice("another tag", isMeant: false) { $0.tag = "sport" },
    Choice("what is old", isMeant: false) { $0.receivedBeforeMilliseconds = now - 3_600_000 },
    Choice("what is long", isMeant: false) { $0.minimumBytes = 1 },
    Choice("what is not pinned", isMeant: false) { $0.isPinned = false },
  ]

  enum Act: CaseIterable, Sendable { case remove, invalidate }

  @Test("law 8: the answer is delivered and not kept, where it is meant", arguments: choices, Act.allCases)
  func meanwhile(choice: Choice, act: Act) async throws {
    for isElsewhere in [false, true] {
      let (isAsked, mayAnswer) = (Gate(), Gate())
      let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
        if number == 1 {
          isAsked.open()
          await mayAnswer.wait()
        }
        return .answer(number == 1 ? "old" : "new", ["Cache-Control": "max-age=3600"])
      }
      let other = try ServiceFixture(store: fixture.store)
      let url = try #require(URL(string: Self.target))
      let configure = { @Sendable (request: inout DataService.Request) in
        request.account = .named("alice")
        request.tags = ["news"]
      }
      // So that there is another account.
      _ = try await fixture.service.store.accountID(named: "")
      let load = Task { await fixture.deliveries(url, configure: configure) }
      await isAsked.wait()
      // The account's row is made while the origin is asked.
      let accounts = "SELECT count(*) FROM account WHERE name = 'alice'"
      #expect(await eventually { (try? fixture.store.value(accounts)) == 1 })
      var selection = EntrySelection.all
      choice.select(&selection)
      let service = isElsewhere ? other.service : fixture.service
      switch act {
      case .remove: #expect(try await service.remove(selection) == 0)
      case .invalidate: #expect(try await service.invalidate(selection) == 0)
      }
      mayAnswer.open()
      let delivered = await load.value
      #expect(delivered.map(\.outline) == ["fresh(old, new)"])
      #expect(delivered.last?.kept == (choice.isMeant ? .no(.superseded) : .yes), "\(isElsewhere)")
      let next = await fixture.outline(
        url, policy: .storedThenFresh(ifOlderThan: .seconds(3_600)), configure: configure)
      #expect(next == (choice.isMeant ? ["fresh(new, new)"] : ["stored(old)"]), "\(isElsewhere)")
      await other.service.close()
      await fixture.service.close()
    }
  }

  @Test func `a program's own key comes under its account and its tags, and under no host`() async throws {
    let fixture = try ServiceFixture.scripted { _, _ in .answer("body") }
    let store = fixture.service.store
    let id = try await store.accountID(named: "")
    var selection = EntrySelection.all
    selection.host = "origin.test"
    try await store.fence(selection, started: StartMark(boot: "now", nanoseconds: 9))
    let started = StartMark(boot: "now", nanoseconds: 5)
    #expect(try await !store.isRemoved("key:https://origin.test/", accountID: id, since: started))
    #expect(try await store.isRemoved("https://origin.test/", accountID: id, since: started))
    try await store.fence(.all, started: StartMark(boot: "now", nanoseconds: 9))
    #expect(try await store.isRemoved("key:https://origin.test/", accountID: id, since: started))
    await fixture.service.close()
  }

  @Test func `law 13: a thousand changes of one target are one mark, which goes after a day`() async throws {
    let clock = VirtualClock()
    let transport = ScriptedTransport { _, _ in .answer("done") }
    let fixture = try ServiceFixture(transport: transport, timekeeper: clock)
    let url = try #require(URL(string: Self.target))
    _ = try await fixture.service.store.accountID(named: "")
    for _ in 0..<20 {
      _ = await fixture.outline(url) {
        $0.method = .post
        $0.body = Data("x".utf8)
      }
      _ = try await fixture.service.remove(.all)
      clock.advance(by: .seconds(1))
    }
    // The target, everything of the account, and that there is a mark of more than one target.
    #expect(try fixture.store.value("SELECT count(*) FROM removal") == 3)
    clock.advance(by: .seconds(86_401))
    await fixture.service.store.performMaintenance(budget: .seconds(60))
    #expect(try fixture.store.value("SELECT count(*) FROM removal") == 0)
    await fixture.service.close()
  }
}
