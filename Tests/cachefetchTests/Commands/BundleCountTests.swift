import Testing
import TestTurns

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

  private static func entry(_ account: String) -> StoredEntry { Sample.entry(account: account) }

  @Test func `its JSON object has each account, and each other reason once`() {
    var count = BundleCount()
    _ = count.wanted(["b", "auto:1", "a", "b"].map(Self.entry), of: nil)
    count.rows = 2
    count.leaveOut(.damaged)
    count.leaveOut(.older)
    #expect(
      String(decoding: count.line(.export, file: "f"), as: UTF8.self)
        == #"{"verb":"export","file":"f","responses":2,"left_out":[{"reason":"credentials","responses":1},"#
        + #"{"reason":"older","responses":1},{"reason":"damaged","responses":1},"#
        + #"{"reason":"account","account":"a","responses":1},{"reason":"account","account":"b","responses":2}]}"#
        + "\n")
    #expect(
      String(decoding: BundleCount().line(.import, file: "f"), as: UTF8.self)
        == #"{"verb":"import","file":"f","responses":0,"left_out":[]}"# + "\n")
  }

  @Test func `what no other store finds is left out, of an account that is named too`() {
    let digest = "=~0123456789abcdef0123456789abcdef"
    for account in ["", "alice"] {
      var count = BundleCount()
      let entries = ["http://a.example/x", "http://a.example/?token" + digest].map {
        Sample.entry($0, account: account)
      }
      let taken = count.wanted(entries, of: account.isEmpty ? nil : account)
      #expect(taken.map(\.key.target) == ["http://a.example/x"], "\(account)")
      count.rows = taken.count
      #expect(
        count.text("exported")
          == "exported 1 stored response; left out: 1 that no other store finds (its key has a digest of a secret or a body)\n",
        "\(account)")
      #expect(
        String(decoding: count.line(.export, file: "f"), as: UTF8.self).contains(
          #""left_out":[{"reason":"digest","responses":1}]"#), "\(account)")
    }
    var count = BundleCount()
    let varied = Sample.entry { $0.variant = "x-tenant: 0123456789abcdef0123456789abcdef" }
    #expect(count.wanted([varied], of: nil).isEmpty)
  }

  @Test func `only accounts that were left out are a reason to name one`() {
    var count = BundleCount()
    count.leaveOut(.older)
    #expect(count.text("imported").hasSuffix("; left out: 1 no newer than what is stored\n"))
    count.rows = 2
    count.takeBack(.limit)
    #expect(
      count.text("imported") == "imported 1 stored response; left out: 1 no newer than what is stored, "
        + "1 that the store's limit has no room for\n")
  }
}
