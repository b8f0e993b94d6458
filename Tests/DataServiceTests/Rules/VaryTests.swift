import CacheStore
import DataService
import Testing
import TestTurns

@Suite("Vary, RFC 9111 section 4.1", .inTurn) struct VaryTests {
  @Test(
    "The names are in lower case, sorted, once each",
    arguments: [
      ([], ""), (["Accept"], "accept"), (["Foo, Bar"], "bar,foo"), (["Foo", "bar, FOO"], "bar,foo"),
      ([""], ""),
      ([","], ""), (["*"], "*"), (["Foo, *"], "*"), (["*", "Foo"], "*"), (["a b"], "*"), (["\"Foo\""], "*"),
    ] as [([String], String)])
  func names(values: [String], expected: String) {
    var fields = HTTPFields()
    for value in values { fields.append("Vary", value) }
    #expect(Vary.names(in: fields) == expected)
  }

  @Test func `fields that carry credentials match whatever they are, where the account stands for them`() {
    let digest: Vary.Protection = { "<" + $1 + ">" }
    func matches(_ vary: String, _ stored: HTTPFields, _ asked: HTTPFields, _ secrets: SecretList?) -> Bool {
      let variant = Vary.variant(names: vary, requestFields: stored, protect: digest)
      return Vary.matches(
        Rule.row(vary: vary, variant: variant), requestFields: asked, protect: digest, besides: secrets)
    }
    var secrets = SecretList()
    secrets.fields.insert("x-tenant")
    let (old, new): (HTTPFields, HTTPFields) = (["Authorization": "1"], ["Authorization": "2"])
    let none = HTTPFields()
    for (stored, asked) in [(old, new), (old, none), (none, new), (old, old)] {
      #expect(matches("authorization", stored, asked, secrets))
      #expect(matches("authorization", stored, asked, nil) == (stored == asked))
    }
    for name in ["Cookie", "X-Tenant", "X-Api-Key", "X-Some-Token"] {
      #expect(matches(name.lowercased(), [:], HTTPFields(dictionaryLiteral: (name, "1")), secrets), "\(name)")
    }
    let names = "accept-language,authorization,cookie"
    var german = old
    german["Accept-Language"] = "de"
    #expect(!matches(names, german, new, secrets) && !matches(names, new, german, secrets))
    german["Authorization"] = "2"
    #expect(matches(names, german, ["Accept-Language": "de", "Cookie": "a"], secrets))
    #expect(!matches("*", old, old, secrets))
  }

  /// One stored request, one new, and whether the second may have the first's response.
  struct Pair: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let vary: String
    let stored: HTTPFields
    let asked: HTTPFields
    let matches: Bool

    init(_ name: String, _ vary: String, _ stored: HTTPFields, _ asked: HTTPFields, _ matches: Bool) {
      (testDescription, self.vary, self.stored) = (name, vary, stored)
      (self.asked, self.matches) = (asked, matches)
    }
  }

  static let pairs: [Pair] = [
    Pair("same value", "foo", ["Foo": "1"], ["Foo": "1"], true),
    Pair("names in any case", "foo", ["FOO": "1"], ["foo": "1"], true),
    Pair("other value", "foo", ["Foo": "1"], ["Foo": "2"], false),
    Pair("other case of an unknown field's value", "foo", ["Foo": "a"], ["Foo": "A"], false),
    Pair(
      "bytes that read alike", "foo", HTTPFields(wire: Array("Foo: ".utf8) + [0xE9, 0x0D, 0x0A]),
      ["Foo": "é"], false),
    Pair(
      "the same bytes that are no UTF-8", "foo", HTTPFields(wire: Array("Foo: ".utf8) + [0xE9, 0x0D, 0x0A]),
      HTTPFields(wire: Array("Foo: ".utf8) + [0xE9, 0x0D, 0x0A]), true),
    Pair("absent now", "foo", ["Foo": "1"], [:], false),
    Pair("absent then", "foo", [:], ["Foo": "1"], false),
    Pair("absent both times", "foo", [:], [:], true),
    Pair("empty is not absent", "foo", ["Foo": ""], [:], false),
    Pair(
      "fields not named do not count", "foo", ["Foo": "1", "Other": "2"], ["Foo": "1", "Other": "3"], true),
    Pair("two names, both same", "bar,foo", ["Foo": "1", "Bar": "2"], ["Bar": "2", "Foo": "1"], true),
    Pair("two names, one other", "bar,foo", ["Foo": "1", "Bar": "2"], ["Foo": "1", "Bar": "3"], false),
    Pair("two names, one absent both times", "bar,foo", ["Foo": "1"], ["Foo": "1"], true),
    Pair("two names, values swapped", "bar,foo", ["Foo": "1", "Bar": "2"], ["Foo": "2", "Bar": "1"], false),
    Pair("white space around commas", "foo", ["Foo": "1,2"], ["Foo": "1 ,  2"], true),
    Pair("two lines for one list", "foo", ["Foo": "1, 2"], ["Foo": "1", "foo": "2"], true),
    Pair("order of members", "foo", ["Foo": "1, 2"], ["Foo": "2, 1"], false),
    Pair(
      "language tags in any case", "accept-language", ["Accept-Language": "en-GB"],
      ["Accept-Language": "en-gb"], true),
    Pair(
      "white space at a weight", "accept-language", ["Accept-Language": "en; q=0.5"],
      ["Accept-Language": "en;q=0.5"], true),
    Pair(
      "language order breaks ties", "accept-language", ["Accept-Language": "en, de"],
      ["Accept-Language": "de, en"], false),
    Pair(
      "codings in any case and spacing", "accept-encoding", ["Accept-Encoding": "GZIP;\tq=1, br"],
      ["Accept-Encoding": "gzip;q=1,br"], true),
    Pair(
      "charsets in any case", "accept-charset", ["Accept-Charset": "UTF-8"], ["Accept-Charset": "utf-8"], true
    ),
    Pair(
      "media types by their letters", "accept", ["Accept": "text/HTML"], ["Accept": "text/html"], false),
    Pair("white space inside a member", "accept", ["Accept": "a/b; q=1"], ["Accept": "a/b;q=1"], false),
    Pair("one character in two spellings", "foo", ["Foo": "\u{E9}"], ["Foo": "e\u{301}"], false),
    Pair("nothing named", "", ["Foo": "1"], ["Foo": "2"], true),
    Pair("asterisk", "*", ["Foo": "1"], ["Foo": "1"], false),
    Pair("asterisk, nothing sent", "*", [:], [:], false),
  ]

  @Test("Requests match where the named fields do", arguments: pairs) func matching(pair: Pair) {
    let variant = Vary.variant(names: pair.vary, requestFields: pair.stored, protect: Rule.plain)
    let row = Rule.row(vary: pair.vary, variant: variant)
    let found = Vary.select(from: [row], requestFields: pair.asked, protect: Rule.plain)
    #expect((found != nil) == pair.matches)
  }

  @Test(
    "Of several rows that match the one received last is chosen, whatever its Date and their order",
    arguments: [nil, Rule.date(), "Fri, 31 Dec 9999 23:59:59 GMT"])
  func latest(date: String?) {
    let old = Rule.row(id: 1, date.map { ["Date": $0] } ?? [:])
    let new = Rule.row(id: 2, ["Date": Rule.date(-86_400)], receivedAt: Rule.noon + 1)
    #expect(Vary.select(from: [old, new], requestFields: [:], protect: Rule.plain)?.id == 2)
    #expect(Vary.select(from: [new, old], requestFields: [:], protect: Rule.plain)?.id == 2)
  }

  @Test("Of rows of one receipt the first is chosen") func tie() {
    let (one, other) = (Rule.row(id: 1), Rule.row(id: 2))
    #expect(Vary.select(from: [one, other], requestFields: [:], protect: Rule.plain)?.id == 1)
    #expect(Vary.select(from: [other, one], requestFields: [:], protect: Rule.plain)?.id == 2)
  }

  @Test("Each variant is found by its own request") func variants() {
    let rows = ["en", "fr", "de"].enumerated().map { index, language in
      Rule.row(
        id: Int64(index), vary: "accept-language",
        variant: Vary.variant(
          names: "accept-language", requestFields: ["Accept-Language": language], protect: Rule.plain))
    }
    for (index, language) in ["en", "fr", "de"].enumerated() {
      let row = Vary.select(from: rows, requestFields: ["Accept-Language": language], protect: Rule.plain)
      #expect(row?.id == Int64(index), "\(index), \(language)")
    }
    #expect(Vary.select(from: rows, requestFields: ["Accept-Language": "it"], protect: Rule.plain) == nil)
  }

  @Test("A secret value is never in the variant") func secret() {
    let variant = Vary.variant(names: "cookie,foo", requestFields: ["Cookie": "s=secret", "Foo": "1"]) {
      name, value in
      name == "cookie" ? "~digest" : value
    }
    #expect(variant == "cookie: ~digest\nfoo: 1")
  }
}
