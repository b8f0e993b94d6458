import CacheStore
import TestTurns
import Testing

@testable import DataService

@Suite("Validation, RFC 9111 section 4.3", .inTurn) struct ValidatorsTests {
  static let modified = Rule.date(-86_400)

  @Test("A refresh carries every validator that is stored, as it was received") func conditional() {
    let row = Rule.row(["ETag": "W/\"a\"", "Last-Modified": Self.modified])
    let expected: HTTPFields = ["If-None-Match": "W/\"a\"", "If-Modified-Since": Self.modified]
    #expect(Validators.conditionalFields(for: row) == expected)
    #expect(Validators.canValidate(row))
  }

  @Test("One validator is enough") func oneValidator() {
    #expect(Validators.canValidate(Rule.row(["ETag": "\"a\""])))
    #expect(Validators.canValidate(Rule.row(["Last-Modified": Self.modified])))
    #expect(Validators.conditionalFields(for: Rule.row(["ETag": "\"a\""])) == ["If-None-Match": "\"a\""])
  }

  @Test(
    "What is no validator is not sent",
    arguments: [
      [:], ["ETag": "*"], ["ETag": "a, b"], ["ETag": ""], ["ETag": "\"a"], ["Last-Modified": "yesterday"],
    ]
      as [HTTPFields])
  func noValidator(fields: HTTPFields) {
    #expect(Validators.conditionalFields(for: Rule.row(fields)).isEmpty)
    #expect(!Validators.canValidate(Rule.row(fields)))
  }

  @Test("What no origin has confirmed is not validated") func unconfirmed() {
    var imported = Rule.row(["ETag": "\"a\"", "Last-Modified": Self.modified])
    imported.head.started = .imported
    // Of a program's own it keeps those that the program vouches for.
    var local = Rule.row([:])
    local.head.version = StoredResponse.localVersion
    for (name, row) in [("imported", imported), ("local", local)] {
      #expect(Validators.conditionalFields(for: row).isEmpty && !Validators.canValidate(row), "\(name)")
    }
  }

  /// A field with a byte that is no UTF-8, and with the letter that reads like it.
  static let latin = HTTPFields(wire: Array("ETag: \"caf".utf8) + [0xE9] + Array("\"\r\n".utf8))
  static let utf8: HTTPFields = ["ETag": "\"café\""]

  @Test("A tag of bytes beyond ASCII goes back as these bytes, and is another than one that reads alike")
  func bytes() {
    let sent = Validators.conditionalFields(for: Rule.row(Self.latin))
    #expect(sent.wire == Array("If-None-Match: \"caf".utf8) + [0xE9] + Array("\"\r\n".utf8))
    #expect(Validators.conditionalFields(for: Rule.row(Self.utf8)) == ["If-None-Match": "\"café\""])
    #expect(Validators.names304Another(stored: Self.latin, answer: Self.utf8))
    #expect(!Validators.names304Another(stored: Self.latin, answer: Self.latin))
    #expect(!HeadUpdate.agrees(stored: Rule.row(Self.latin), answer: Self.utf8))
    #expect(HeadUpdate.agrees(stored: Rule.row(Self.latin), answer: Self.latin))
    for name in ["If-None-Match", "If-Range"] {
      for (asked, matches) in [(Self.latin, true), (Self.utf8, false)] {
        var fields = HTTPFields()
        fields.append(name: Array(name.utf8), value: HTTPFields.Exact.bytes(asked.exact["ETag"] ?? ""))
        let row = Rule.row(Self.latin)
        let does =
          name == "If-Range"
          ? Precondition.allowsRange(requestFields: fields, stored: row)
          : Precondition.isNotModified(requestFields: fields, stored: row)
        #expect(does == matches, "\(name)")
      }
    }
  }

  @Test("A tag without quotation marks goes back as it came") func bareTag() {
    #expect(Validators.conditionalFields(for: Rule.row(["ETag": "abc"])) == ["If-None-Match": "abc"])
  }

  @Test("A 304's fields replace the stored ones of their names, and the rest stays") func freshened() {
    let stored: HTTPFields = [
      "Date": Rule.date(-60), "X": "old", "Y": "kept", "ETag": "\"a\"", "x": "old too",
    ]
    let result = Validators.freshened(
      stored: stored, by: ["Date": Rule.date(), "X": "1", "Z": "new", "x": "2"], receivedAt: Rule.noon)
    #expect(result.values(of: "X") == ["1", "2"])
    #expect(result["Y"] == "kept")
    #expect(result["Z"] == "new")
    #expect(result["ETag"] == "\"a\"")
    #expect(result.values(of: "Date") == [Rule.date()])
  }

  @Test(
    "What describes the stored body does not change without it, and is not added",
    arguments: ["Content-Type", "Content-Length", "Content-Encoding", "Content-Range"])
  func bodyStays(name: String) {
    var stored = HTTPFields()
    stored.append(name, "stored")
    var answer = HTTPFields()
    answer.append(name.lowercased(), "answered")
    #expect(Validators.freshened(stored: stored, by: answer).values(of: name) == ["stored"])
    #expect(Validators.freshened(stored: [:], by: answer).isEmpty)
  }

  @Test("Merged fields fit into a head, or are no longer than the stored ones were") func within() {
    var limits = Limits()
    (limits.fieldSectionBytes, limits.fieldCount) = (20, 2)
    let stored: HTTPFields = ["A": "1"]
    #expect(Validators.isWithin(limits, ["A": "1", "B": "123456789"], stored: stored))
    #expect(!Validators.isWithin(limits, ["A": "1", "B": "1234567890"], stored: stored))
    #expect(!Validators.isWithin(limits, ["A": "", "B": "", "C": ""], stored: stored))
    let long: HTTPFields = ["A": "1234567890", "B": "1234567890", "C": "3"]
    #expect(Validators.isWithin(limits, ["A": "1234567890", "B": "1234567890", "D": "3"], stored: long))
    #expect(!Validators.isWithin(limits, ["A": "1234567890", "B": "1234567890", "D": "30"], stored: long))
  }

  @Test(
    "What is never stored is not stored by a 304 either",
    arguments: ["Set-Cookie", "Connection", "Transfer-Encoding", "Named", "X-Api-Key"])
  func neverStored(name: String) {
    var answer: HTTPFields = ["Connection": "named"]
    answer.append(name, "value")
    #expect(!Validators.freshened(stored: [:], by: answer, secretNames: ["x-api-key"]).contains(name))
  }

  @Test("Age and Date of the earlier exchange are gone") func ageGoes() {
    let result = Validators.freshened(
      stored: ["Age": "900", "Date": Rule.date(-900)], by: [:], receivedAt: Rule.noon)
    #expect(result["Age"] == nil)
    #expect(result["Date"] == Rule.date())
  }

  struct Answer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let stored: HTTPFields
    let fields: HTTPFields
    let isAnother: Bool

    init(_ name: String, _ stored: HTTPFields, _ fields: HTTPFields, _ isAnother: Bool) {
      (testDescription, self.stored, self.fields, self.isAnother) = (name, stored, fields, isAnother)
    }
  }

  static let another: [Answer] = [
    Answer("no validator in the answer", ["ETag": "\"a\""], [:], false),
    Answer("the same strong tag", ["ETag": "\"a\""], ["ETag": "\"a\""], false),
    Answer("another strong tag", ["ETag": "\"a\""], ["ETag": "\"b\""], true),
    Answer("the same weak tag", ["ETag": "W/\"a\""], ["ETag": "W/\"a\""], false),
    Answer("another weak tag", ["ETag": "W/\"a\""], ["ETag": "W/\"b\""], true),
    Answer("a weak tag for a strong one", ["ETag": "\"a\""], ["ETag": "W/\"a\""], false),
    Answer("a strong tag for a weak one", ["ETag": "W/\"a\""], ["ETag": "\"a\""], false),
    Answer("another strong tag for a weak one", ["ETag": "W/\"a\""], ["ETag": "\"b\""], true),
    Answer("a strong tag for none", ["Last-Modified": modified], ["ETag": "\"a\""], true),
    Answer("a weak tag for none", ["Last-Modified": modified], ["ETag": "W/\"a\""], false),
    Answer("a bare tag, the same", ["ETag": "a"], ["ETag": "a"], false),
    Answer("a bare tag, another", ["ETag": "a"], ["ETag": "b"], true),
    Answer("the same Last-Modified", ["Last-Modified": modified], ["Last-Modified": modified], false),
    Answer("another Last-Modified", ["Last-Modified": modified], ["Last-Modified": Rule.date()], true),
    Answer(
      "another Last-Modified beside a tag", ["ETag": "\"a\"", "Last-Modified": modified],
      ["Last-Modified": Rule.date()], false),
    Answer("an unreadable Last-Modified", ["Last-Modified": modified], ["Last-Modified": "x"], false),
    Answer("an unreadable stored Last-Modified", ["Last-Modified": "x"], ["Last-Modified": modified], false),
    Answer("a bare tag for none", [:], ["ETag": "a"], false),
    Answer("a bare tag for a tag", ["ETag": "\"a\""], ["ETag": "a"], true),
    Answer("a tag for a bare one", ["ETag": "a"], ["ETag": "\"a\""], true),
    Answer(
      "the same tag beside another Last-Modified", ["ETag": "\"a\"", "Last-Modified": modified],
      ["ETag": "\"a\"", "Last-Modified": Rule.date()], false),
    Answer("a Last-Modified for none", [:], ["Last-Modified": modified], false),
  ]

  @Test("A 304 may speak of another representation", arguments: another)
  func names304Another(_ test: Answer) {
    #expect(Validators.names304Another(stored: test.stored, answer: test.fields) == test.isAnother)
  }
}
