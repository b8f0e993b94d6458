import PlatformFoundation
import Testing
import TestTurns

@testable import DataService

@Suite("Parts of a query", .inTurn) struct QueryPartsTests {
  static let cases: [(text: String, isQuery: Bool, shown: String?)] = [
    ("", false, nil), ("/p", false, nil), ("/?a=1", false, nil), ("/?token", false, nil), ("=1", true, nil),
    ("/?token=1", false, "/?token=~"), ("token=1", true, "token=~"), ("token=", true, "token=~"),
    ("token=1/b=2", true, "token=~"), ("/token=1/b=2", false, "/token=~/b=2"),
    ("token=1/b=2", false, "token=~/b=2"),
    ("/?token=1/2", false, "/?token=~"), ("/#token=1/2", false, "/#token=~"),
    ("/?a=1#token=2", false, "/?a=1#token=~"),
    ("a=1&token=2&b=3", true, "a=1&token=~&b=3"), ("a=1;token=2;b=3", true, "a=1;token=~;b=3"),
    ("a=1?token=2?b=3", true, "a=1?token=~?b=3"), ("a=1#token=2#b=3", true, "a=1#token=~#b=3"),
    ("token=1&token=2", true, "token=~&token=~"), ("token=a=b", true, "token=~"), ("a=token=b", true, nil),
    ("u=%3Ftoken%3D1&b=2", true, "u=~&b=2"), ("u=%253Ftoken%253D1", true, "u=~"),
    ("u=%25253Ftoken%25253D1", true, "u=~"), ("u=%2525253Ftoken%2525253D1", true, nil),
    // A slash is a border in the path of a URL in a value, too.
    ("u=%2Fx%2Fcode%3D1", true, "u=~"), ("u=x%2Fcode%3D1", false, "u=~"),
    ("u=%3Fa%3D1", true, nil), ("u=100%", true, nil),
    // A comma is a border, but of no secret, and user-info of a nested URL is a secret wherever that stands.
    ("token=1,2&b=3", true, "token=~&b=3"), ("token=1,b=2=;c=3", true, "token=~;c=3"),
    ("u=%3Ftoken%3D1,2=3&b=4", true, "u=~&b=4"), ("/token=1,2/b", false, "/token=~/b"),
    ("token=,1", true, "token=~"), ("token=1,", true, "token=~"), ("token=1,token=2", true, "token=~"),
    ("x=1,token=2", true, "x=1,token=~"), ("/a,token=2/b", false, "/a,token=~/b"), ("x=1,2", true, nil),
    ("u=http://me:PW@h/x", true, "u=http://~@h/x"), ("/a?u=//me:PW@h", false, "/a?u=//~@h"),
    ("//me:PW@h/", false, "//~@h/"), ("/http://me:P,W;1&2=3@h/", false, "/http://~@h/"),
    ("///me@h", false, "///~@h"), ("u=//a@b@c/&v=//d@e", true, "u=//~@c/&v=//~@e"),
    ("/a@b//@c//d/e@f?g//h?i@j", false, nil), ("token=//me:PW@h", true, "token=~"),
    ("u=http%3A%2F%2Fme:PW@h%2F", true, "u=~"), ("u=http%3A%2F%2Fme%3APW%40h%2F&b=1", true, "u=~&b=1"),
    ("/http%3A%2F%2Fme%3APW%40h%2F/b", false, "/~/b"), ("/a%20b%40c", false, nil),
  ]

  @Test("The values of secret parameters are replaced, and nothing else") func replacing() {
    for (text, isQuery, shown) in Self.cases {
      let bytes = Array(("x" + text).utf8)
      // A slice that begins in the middle, as callers have it.
      let output = QueryParts.replacing(bytes[1...], isQuery: isQuery, secrets: SecretList()) { _ in [0x7E] }
      #expect(output.map { String(decoding: $0, as: UTF8.self) } == shown, "\(text)")
    }
  }

  @Test("The replacement is told the value") func value() {
    var values: [String] = []
    _ = QueryParts.replacing(Array("a=0&token=1&sig=2".utf8)[...], isQuery: true, secrets: SecretList()) {
      values.append(String(decoding: $0, as: UTF8.self))
      return Array($0)
    }
    #expect(values == ["1", "2"])
  }

  static let encoded: [(text: String, bytes: [UInt8])] = [
    ("", []), ("a", [0x61]), ("%41", [0x41]), ("%fF", [0xFF]), ("%00", [0]), ("%", [0x25]),
    ("%4", [0x25, 0x34]),
    ("%4g", [0x25, 0x34, 0x67]), ("%g4", [0x25, 0x67, 0x34]), ("%%41", [0x25, 0x41]), ("+", [0x20]),
    ("%2B", [0x2B]),
    ("%4G", [0x25, 0x34, 0x47]), ("%:0", [0x25, 0x3A, 0x30]), ("%/0", [0x25, 0x2F, 0x30]), ("%Aa", [0xAA]),
    ("%@0", [0x25, 0x40, 0x30]), ("%`0", [0x25, 0x60, 0x30]), ("%09%90", [0x09, 0x90]), ("%Ff", [0xFF]),
    ("%41%42c", [0x41, 0x42, 0x63]), ("%19%9a", [0x19, 0x9A]),
  ]

  @Test("Decoding takes what is encoded and leaves what is not, RFC 3986 section 2.1") func decoded() {
    for (text, bytes) in Self.encoded {
      #expect(Array(text.utf8)[...].formDecoded == bytes, "\(text)")
    }
  }
}
