import CacheStore
import DataService
import PlatformFoundation
import Testing
import TestTurns

@Suite("Pass-through", .inTurn) struct PassThroughTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let method: RequestMethod
    let fields: HTTPFields
    let isRead: Bool
    let passes: Bool
    let passesUnderHTTP: Bool

    init(
      _ name: String, _ method: RequestMethod, _ fields: HTTPFields, isRead: Bool = false, _ passes: Bool,
      underHTTP: Bool = false
    ) {
      (testDescription, self.method, self.fields) = (name, method, fields)
      (self.isRead, self.passes, passesUnderHTTP) = (isRead, passes, underHTTP)
    }
  }

  static let cases: [Case] = [
    Case("GET", .get, [:], false), Case("HEAD", .head, [:], false),
    Case("POST", .post, [:], true, underHTTP: true),
    Case("get in small letters", "get", [:], true, underHTTP: true),
    Case("POST marked as a read", .post, [:], isRead: true, false),
    Case("Range", .get, ["Range": "bytes=0-1"], true),
    Case("If-None-Match", .get, ["If-None-Match": "*"], true),
    Case("If-Match", .get, ["if-match": "*"], true),
    Case("If-Modified-Since", .get, ["If-Modified-Since": Rule.date()], true),
    Case("If-Unmodified-Since", .get, ["If-Unmodified-Since": Rule.date()], true),
    Case("If-Range", .get, ["If-Range": "\"a\""], true),
    Case("no-store", .get, ["Cache-Control": "max-age=1, No-Store"], true),
    Case("no-cache", .get, ["Cache-Control": "no-cache"], false),
    Case("HEAD with a Range", .head, ["Range": "bytes=0-1"], true),
    Case("a read with a Range", .post, ["Range": "bytes=0-1"], isRead: true, true),
    Case("a read with no-store", .post, ["Cache-Control": "no-store"], isRead: true, true),
    Case("DELETE", .delete, ["Accept": "*/*"], true, underHTTP: true),
    Case("Accept", .get, ["Accept": "*/*"], false),
  ]

  @Test(
    "The store stays out of writes, ranges, preconditions and no-store, under http of writes alone",
    arguments: cases)
  func decide(_ test: Case) {
    func passes(underHTTP: Bool) -> Bool {
      PassThrough.isPassThrough(
        method: test.method, fields: test.fields, isRead: test.isRead, underHTTP: underHTTP)
    }
    #expect(passes(underHTTP: false) == test.passes)
    #expect(passes(underHTTP: true) == test.passesUnderHTTP)
  }

  @Test("no-store does not pass the store by where the answer is to be kept anyway") func keptAnyway() {
    let fields: HTTPFields = ["Cache-Control": "no-store"]
    #expect(!PassThrough.isPassThrough(method: .get, fields: fields, isRead: false, keepsAnyway: true))
    for other in [["Range": "bytes=0-1"], ["If-Match": "*"]] as [HTTPFields] {
      #expect(
        PassThrough.isPassThrough(method: .get, fields: other, isRead: false, keepsAnyway: true),
        "\(other.all.map(\.name))")
    }
    #expect(PassThrough.isPassThrough(method: .post, fields: [:], isRead: false, keepsAnyway: true))
  }

  @Test("A range is no precondition, and a precondition no range, RFC 9110 section 13.1") func parts() {
    #expect(PassThrough.hasRange(["range": "x"]) && !PassThrough.hasPrecondition(["Range": "x"]))
    for name in ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"] {
      var fields = HTTPFields()
      fields.append(name, "x")
      #expect(PassThrough.hasPrecondition(fields) && !PassThrough.hasRange(fields), "\(name)")
    }
    #expect(!PassThrough.hasPrecondition([:]) && !PassThrough.hasRange([:]))
  }
}
