import Testing
import TestTurns

@testable import CacheStore
@testable import cachefetch

@Suite("Output: what tells the entries of one URL apart", .inTurn) struct EntryGroupsTests {
  private func groups(_ kinds: (account: String, extra: String)...) -> EntryGroups {
    EntryGroups(kinds.map { Sample.entry(account: $0.account, extra: $0.extra) })
  }

  @Test func `those that are alike need no telling`() {
    #expect(groups().text == nil && groups().narrowing == nil && groups().waysToAsk == [])
    let alike = groups(("a", "insecure"), ("a", "insecure"))
    #expect(alike.text == nil && alike.narrowing == nil)
    #expect(alike.waysToAsk == ["with --account a -k"])
  }

  @Test func `each kind is counted and named, in order`() {
    let found = groups(("b", ""), ("", "insecure"), ("b", ""), ("a", "no-location"), ("", ""))
    #expect(found.text == "1 of no account, 1 of no account with -k, 1 of a with --no-location, 2 of b")
    #expect(found.narrowing == "--account, -k, --no-location or --exact")
    #expect(
      found.waysToAsk == [
        "without an account and such options", "with -k", "with --account a --no-location",
        "with --account b",
      ])
  }

  @Test func `four are named, and the rest are counted`() {
    let found = groups(("a", ""), ("b", ""), ("c", ""), ("d", ""), ("e", ""), ("e", ""), ("f", ""))
    #expect(found.text == "1 of a, 1 of b, 1 of c, 1 of d, 3 more")
    #expect(found.waysToAsk.count == 5 && found.waysToAsk.last == "in 2 more ways, which list shows")
    let five = groups(("a", ""), ("b", ""), ("c", ""), ("d", ""), ("e", ""))
    #expect(five.waysToAsk.last == "in 1 more way, which list shows")
    #expect(five.text == "1 of a, 1 of b, 1 of c, 1 of d, 1 more")
    #expect(groups(("a", ""), ("b", ""), ("c", ""), ("d", "")).text == "1 of a, 1 of b, 1 of c, 1 of d")
  }

  @Test func `what the key has a digest of is asked for with the same again`() {
    #expect(groups(("", "body=3:abc")).waysToAsk == ["with the same -d, -X and --read"])
    #expect(
      groups(("", "authorities body=3:abc")).waysToAsk == [
        "with --cacert FILE and the same -d, -X and --read"
      ])
    #expect(groups(("", "authorities no-location")).waysToAsk == ["with --cacert FILE --no-location"])
  }

  @Test func `the name of an automatic account is not proposed`() {
    let (one, two) = ("auto:0123456789abcdef", "auto:123456789abcdef0")
    let found = groups((one, ""), (two, ""), (two, "insecure"))
    #expect(found.text == "1 of auto:01234567…, 1 of auto:12345678…, 1 of auto:12345678… with -k")
    #expect(found.narrowing == "-k or --exact")
    #expect(found.waysToAsk == ["with the same credentials", "with the same credentials and -k"])
    #expect(groups((one, ""), ("a", "")).narrowing == "--account or --exact")
  }

  @Test func `only what tells them apart is proposed`() {
    #expect(groups(("a", ""), ("b", "")).narrowing == "--account")
    #expect(groups(("", ""), ("", "body=1:x")).narrowing == "--exact")
    #expect(groups(("", "body=1:x"), ("", "body=1:y")).narrowing == nil)
    #expect(groups(("", "insecure"), ("", "insecure no-location")).narrowing == "-k or --no-location")
    #expect(groups(("a", ""), ("", "insecure")).narrowing == "--account or -k")
  }
}
