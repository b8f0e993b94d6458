import Testing
import TestTurns

@testable import CacheStore

@Suite("Parts of a key", .inTurn) struct RequestKeyTests {
  private func parts(_ extra: String) -> [String] {
    RequestKey.extraParts(extra).map { $0.name + ($0.value.map { "=" + $0 } ?? "") }
  }

  @Test("A part says its length in bytes, so that no value is another part") func write() {
    #expect(RequestKey.extraPart("insecure", nil) == "insecure")
    for (value, part) in [("", "n=0:"), ("abc", "n=3:abc"), ("ü", "n=2:ü"), ("a b=1:c", "n=7:a b=1:c")] {
      #expect(RequestKey.extraPart("n", value) == part, "\(value)")
      #expect(parts(part + " insecure " + part) == ["n=\(value)", "insecure", "n=\(value)"], "\(value)")
    }
  }

  static let read: [(extra: String, parts: [String])] = [
    ("", []), ("a", ["a"]), ("a b", ["a", "b"]), ("a=1:x", ["a=x"]), ("a=1:x b", ["a=x", "b"]),
    ("a=0:", ["a="]),
    ("a=0: b", ["a=", "b"]), ("a=2:x", []), ("b a=2:x", ["b"]), ("a=3:x y", ["a=x y"]), ("a=-1:x", []),
    ("a=x:y", []), ("a=", []), ("a=1", []), ("a=:x", []), ("a=99999999999999999999:x", []),
    ("a=4:b=1: c", ["a=b=1:", "c"]),
  ]

  @Test("What is not well-formed ends the parts") func extraParts() {
    for (extra, expected) in Self.read { #expect(parts(extra) == expected, "\(extra)") }
  }

  @Test("Every part of a key counts") func equality() {
    let key = RequestKey(account: "a", target: "t", method: "M", extra: "e")
    #expect(key.account == "a" && key.target == "t" && key.method == "M" && key.extra == "e")
    let plain = RequestKey(target: "t")
    #expect(plain.account.isEmpty && plain.method == "GET" && plain.extra.isEmpty)
  }
}
