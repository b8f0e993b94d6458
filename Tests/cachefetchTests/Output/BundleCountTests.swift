import FoundationEssentials
import TestTurns
import Testing

@testable import CacheStore
@testable import cachefetch

@Suite("What export and import say they left out", .inTurn) struct BundleCountTests {
  @Test(
    "accounts are named up to three, and then there are more",
    arguments: [
      (["a"], "1 of the account a"), (["a", "b"], "2 of the accounts a, b"),
      (["c", "a", "b"], "3 of the accounts a, b, c"), (["a", "b", "c", "d"], "4 of the accounts a, b, c, …"),
    ])
  func accounts(names: [String], said: String) {
    var count = BundleCount()
    let taken = count.wanted(names.map(Self.entry) + [Self.entry("")], of: nil)
    count.rows = taken.count
    #expect(
      count.text("exported")
        == "exported 1 stored response; left out: \(said) (--account NAME takes those of one account)\n")
  }

  @Test func `every reason has its count, and whoever names an account is told of no other`() {
    var count = BundleCount()
    _ = count.wanted(["auto:1", "auto:2"].map(Self.entry), of: nil)
    for reason in [BundleCount.Reason.older, .damaged, .damaged] { count.leaveOut(reason) }
    #expect(
      count.text("imported")
        == "imported 0 stored responses; left out: 2 of requests with credentials, 1 no newer than what is stored, "
        + "2 that cannot be read whole (--account NAME takes those of one account)\n")
    var named = BundleCount()
    #expect(named.wanted(["a", "b", ""].map(Self.entry), of: "a").map(\.key.account) == ["a"])
    named.rows = 1
    #expect(named.text("exported") == "exported 1 stored response\n")
  }

  private static func entry(_ account: String) -> StoredEntry {
    let body = StoredResponse.Body(id: 1, length: 0, firstChunk: .init())
    let head = ResponseHead(
      status: 200, fields: [:], started: StartMark(boot: "", nanoseconds: 0), receivedAt: 0)
    let response = StoredResponse(id: 1, accountID: 1, head: head, body: body)
    return StoredEntry(
      rowID: 1, key: RequestKey(account: account, target: "http://origin.test/", method: "GET", extra: ""),
      response: response, isSound: true, usedAt: nil, tags: [])
  }
}
