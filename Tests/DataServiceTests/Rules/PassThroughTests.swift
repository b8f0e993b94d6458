import CacheStore
import DataService
import PlatformFoundation
import Testing
import TestTurns

@Suite("Pass-through", .inTurn) struct PassThroughTests {
  static let cases:
    [(name: String, method: RequestMethod, fields: HTTPFields, isRead: Bool, passes: Bool, underHTTP: Bool)] =
      [
        ("GET", .get, [:], false, false, false), ("HEAD", .head, [:], false, false, false),
        ("POST", .post, [:], false, true, true), ("get in small letters", "get", [:], false, true, true),
        ("POST marked as a read", .post, [:], true, false, false),
        ("Range", .get, ["Range": "bytes=0-1"], false, true, false),
        ("If-None-Match", .get, ["If-None-Match": "*"], false, true, false),
        ("If-Match", .get, ["if-match": "*"], false, true, false),
        ("If-Modified-Since", .get, ["If-Modified-Since": Rule.date()], false, true, false),
        ("If-Unmodified-Since", .get, ["If-Unmodified-Since": Rule.date()], false, true, false),
        ("If-Range", .get, ["If-Range": "\"a\""], false, true, false),
        ("no-store", .get, ["Cache-Control": "max-age=1, No-Store"], false, true, false),
        ("no-cache", .get, ["Cache-Control": "no-cache"], false, false, false),
        ("HEAD with a Range", .head, ["Range": "bytes=0-1"], false, true, false),
        ("a read with a Range", .post, ["Range": "bytes=0-1"], true, true, false),
        ("a read with no-store", .post, ["Cache-Control": "no-store"], true, true, false),
        ("DELETE", .delete, ["Accept": "*/*"], false, true, true),
        ("Accept", .get, ["Accept": "*/*"], false, false, false),
      ]
  @Test("Which requests the store stays out of", arguments: cases.indices) func decide(index: Int) {
    let (name, method, fields, isRead, passes, underHTTP) = Self.cases[index]
    let comment = Comment(rawValue: name)
    #expect(PassThrough.isPassThrough(method: method, fields: fields, isRead: isRead) == passes, comment)
    #expect(
      PassThrough.isPassThrough(method: method, fields: fields, isRead: isRead, underHTTP: true) == underHTTP,
      comment)
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
