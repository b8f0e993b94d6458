import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: what may have been meant", .inTurn) struct SuggestionTests {
  @Test(
    "The nearest name of an option is suggested",
    arguments: [
      ("offlin", "offline"), ("ofline", "offline"), ("ignroe-path", "ignore-path"), ("xyz", nil),
      ("inc", "include"),
    ] as [(String, String?)])
  func suggestion(name: String, expected: String?) {
    #expect(Suggestion.nearest(to: name, among: OptionName.allCases.map(\.rawValue)) == expected)
  }

  @Test(
    "A slip is one edit in a short name, up to three in a longer one",
    arguments: [
      ("abc", ["abd"], "abd"), ("abc", ["ade"], nil), ("ab", ["ac"], "ac"),
      ("abcdefgh", ["abcdefxy"], "abcdefxy"), ("abcdefg", ["abcdexy"], nil),
      ("abcdefgh", ["abcdexyz"], nil), ("abcdefghijkl", ["abcdefghixyz"], "abcdefghixyz"),
      ("abcdefghijkl", ["abcdefghwxyz"], nil), ("abcdefgh", ["abcdefxy", "abcdefgx"], "abcdefgx"),
      ("abcdef", ["abcdex", "abcdey"], "abcdex"), ("abcdefgh", ["abcdefgx", "abcdefxy"], "abcdefgx"),
    ] as [(String, [String], String?)])
  func slip(name: String, candidates: [String], expected: String?) {
    #expect(Suggestion.nearest(to: name, among: candidates) == expected)
  }

  @Test(arguments: ["--last", "--wait", "--pretty", "--bearer", "--exec", "--count"])
  func `what is only a little like an option is not taken for it`(option: String) {
    let near = Suggestion.nearest(to: option, among: Option.table.map(\.spelling))
    #expect(near == nil || near == "--wait-online")
  }

  @Test(
    "A verb of another name is known",
    arguments: [
      ("unpin", "unmark --pin"), ("untag", "unmark --tag TAG"), ("ls", "list"), ("lits", "list"),
      ("xyz", nil),
    ]
      as [(String, String?)])
  func verb(word: String, verb: String?) {
    #expect(Suggestion.verb(word) == verb)
  }

  @Test(
    "An abbreviation means what begins so, if only one does",
    arguments: [
      ("li", ["list", "limits"], nil), ("lis", ["list", "limits"], "list"),
      ("in", ["include", "json"], "include"),
      ("i", ["include"], nil), ("x", ["y"], "y"),
    ] as [(String, [String], String?)])
  func abbreviation(name: String, candidates: [String], expected: String?) {
    #expect(Suggestion.nearest(to: name, among: candidates) == expected)
  }

  @Test(
    "What to write in place of an option of curl's does what that did",
    arguments: [
      ("--create-dirs", "mkdir -p"), ("--data-raw", "-d @FILE"), ("--data-ascii", "use -d"),
      ("--remote-time", "leave it out"), ("--stale-if-error", "--stale-ok"), ("--swr", "--background"),
      ("--only-if-cached", "--offline"), ("--ttl", "--max-age"), ("--cache-dir", "--store"),
      ("--refresh", "fresh-only"),
      ("--interval", "--every"), ("--force", "--yes"), ("--dry-run", "list"), ("--on-change", "while read"),
      ("--last", "--one"), ("-y", "--yes"), ("--bearer", "Authorization"),
    ])
  func foreign(option: String, remedy: String) {
    #expect(Suggestion.foreign(option)?.contains(remedy) == true)
  }

  @Test(
    "An edit inserts, removes or replaces one byte, or swaps two neighbours",
    arguments: [
      ("ab", "ba", 1), ("ca", "abc", 3), ("kitten", "sitting", 3), ("a", "", 1), ("", "ab", 2),
      ("abcd", "badc", 2),
      ("abc", "abc", 0), ("abc", "axc", 1), ("abc", "ac", 1), ("ac", "abc", 1), ("abab", "baba", 2),
      ("aa", "aa", 0),
    ])
  func edits(one: String, other: String, count: Int) {
    #expect(Suggestion.editDistance(Array(one.utf8), Array(other.utf8)) == count)
  }
}
