internal import CacheStore
internal import DataService
internal import FixtureServer
internal import PlatformFoundation

extension HTTPCase {
  /// Every case; dates are counted from `now`, in milliseconds since 1970-01-01 UTC.
  package static func all(now: Int64) -> [HTTPCase] {
    freshness(now) + storing(now) + vary + validation(now) + conditions(now) + ranges + heads + directives
      + staleness + served
  }

  /// The same case with the dates of this moment: many minutes may have passed since a test was given its arguments.
  package var ofNow: HTTPCase {
    Self.all(now: Int64(Date().timeIntervalSince1970 * 1000)).first { $0.name == name } ?? self
  }

  private static func date(_ seconds: Int64, from now: Int64) -> String {
    HTTPDate.format(now + seconds * 1000)
  }

  private static func ok(_ fields: KeyValuePairs<String, String>) -> FixtureReply { .ok("one", fields) }

  /// A response that is stale on arrival, with the directives and an entity tag.
  private static func aged(_ control: String, tag: String = "\"1\"") -> FixtureReply {
    .ok("one", ["Cache-Control": control, "Age": "100", "ETag": tag])
  }

  private static let fresh = FixtureReply.ok("one", ["Cache-Control": "max-age=600", "ETag": "\"1\""])
  private static let two = FixtureReply.ok("two", ["Cache-Control": "max-age=600"])
  private static let notModified = FixtureReply.status(
    304, "", ["ETag": "\"1\"", "Cache-Control": "max-age=600"])

  private static func reused(_ name: String, _ reply: FixtureReply) -> HTTPCase {
    HTTPCase(
      name: name,
      steps: [.asked(reply), .stored(String(decoding: reply.body, as: UTF8.self), status: reply.status)])
  }

  private static func askedAgain(_ name: String, _ reply: FixtureReply) -> HTTPCase {
    HTTPCase(name: name, steps: [.asked(reply), .asked(two)])
  }

  private static func freshness(_ now: Int64) -> [HTTPCase] {
    [
      reused("fresh by max-age", ok(["Cache-Control": "max-age=600"])),
      askedAgain("max-age=0", ok(["Cache-Control": "max-age=0"])),
      askedAgain("Age beyond max-age", ok(["Cache-Control": "max-age=600", "Age": "600"])),
      reused("Age within max-age", ok(["Cache-Control": "max-age=600", "Age": "300"])),
      reused("Expires ahead", ok(["Expires": date(600, from: now), "Date": date(0, from: now)])),
      askedAgain("Expires past", ok(["Expires": date(-600, from: now), "Date": date(0, from: now)])),
      askedAgain("Expires: 0", ok(["Expires": "0", "Last-Modified": date(-864_000, from: now)])),
      reused("a tenth of the time since Last-Modified", ok(["Last-Modified": date(-864_000, from: now)])),
      askedAgain("nothing says how long", ok([:])),
      reused("s-maxage=0 is for shared caches", ok(["Cache-Control": "max-age=600, s-maxage=0"])),
      reused("max-age before Expires", ok(["Cache-Control": "max-age=600", "Expires": "0"])),
      askedAgain("max-age twice, different", ok(["Cache-Control": "max-age=600, max-age=6000"])),
      reused("max-age quoted", ok(["Cache-Control": "max-age=\"600\""])),
      askedAgain("max-age with a letter", ok(["Cache-Control": "max-age=600a"])),
      reused("max-age past every clock", ok(["Cache-Control": "max-age=99999999999999999999"])),
      askedAgain(
        "max-age inside another directive's string", ok(["Cache-Control": "x=\"max-age=600\", max-age=0"])),
      askedAgain("the first Age counts", ok(["Cache-Control": "max-age=600", "Age": "7200, 0"])),
      reused("an Age that is no number does not count", ok(["Cache-Control": "max-age=600", "Age": "old"])),
      askedAgain("Date long ago", ok(["Cache-Control": "max-age=600", "Date": date(-7200, from: now)])),
    ]
  }

  private static func storing(_ now: Int64) -> [HTTPCase] {
    [
      askedAgain("no-store on the response", ok(["Cache-Control": "max-age=600, no-store"])),
      askedAgain("no-store in any case", ok(["Cache-Control": "max-age=600, nO-StOrE"])),
      HTTPCase(
        name: "no-store on the request", steps: [.asked(fresh, ["Cache-Control": "no-store"]), .asked(two)]),
      reused("private", ok(["Cache-Control": "private, max-age=600"])),
      reused("204", .status(204, "", ["Cache-Control": "max-age=600"])),
      reused("299 with max-age", .status(299, "one", ["Cache-Control": "max-age=600"])),
      askedAgain("201 without a lifetime", .status(201, "one")),
      reused("404 with max-age", .status(404, "gone", ["Cache-Control": "max-age=600"])),
      askedAgain("404 without", .status(404, "gone")),
      reused("410 with Expires", .status(410, "gone", ["Expires": date(600, from: now)])),
      reused("500 with max-age", .status(500, "broken", ["Cache-Control": "max-age=600"])),
      askedAgain("503 without", .status(503, "busy")),
      reused(
        "must-understand lifts no-store", ok(["Cache-Control": "must-understand, no-store, max-age=600"])),
      askedAgain(
        "must-understand with a status that is not understood",
        .status(299, "one", ["Cache-Control": "must-understand, max-age=600"])),
      HTTPCase(
        name: "a request with credentials",
        steps: [
          .asked(fresh, ["Authorization": "Bearer a"]), .stored("one", ["Authorization": "Bearer a"]),
          .asked(two, ["Authorization": "Bearer b"]),
        ]),
      HTTPCase(
        name: "Set-Cookie is not stored",
        steps: [
          .asked(ok(["Cache-Control": "max-age=600", "Set-Cookie": "a=b"]), received: ["Set-Cookie": "a=b"]),
          .stored("one", received: ["Set-Cookie": ""]),
        ]),
      HTTPCase(
        name: "fields that Connection names are not stored",
        steps: [
          .asked(ok(["Cache-Control": "max-age=600", "Connection": "keep-alive, A", "A": "1", "B": "2"])),
          .stored("one", received: ["A": "", "Connection": "", "B": "2"]),
        ]),
      HTTPCase(
        name: "an unsafe request invalidates, unless it fails",
        steps: [
          .asked(fresh), .asked(.status(500, "no"), method: "POST"), .stored("one"),
          .asked(.ok("done"), method: "POST"),
          .asked(notModified, gives: "one", status: 200, sent: ["If-None-Match": "\"1\""]),
        ]),
    ]
  }

  private static func varied(_ body: String, _ names: String = "Foo") -> FixtureReply {
    .ok(body, ["Cache-Control": "max-age=600", "Vary": names])
  }

  private static var vary: [HTTPCase] {
    [
      HTTPCase(
        name: "Vary, same value", steps: [.asked(varied("a"), ["Foo": "1"]), .stored("a", ["Foo": "1"])]),
      HTTPCase(
        name: "Vary, other value",
        steps: [.asked(varied("a"), ["Foo": "1"]), .asked(varied("b"), ["Foo": "2"])]),
      HTTPCase(name: "Vary, field absent", steps: [.asked(varied("a"), ["Foo": "1"]), .asked(varied("b"))]),
      HTTPCase(name: "Vary, absent both times", steps: [.asked(varied("a")), .stored("a")]),
      HTTPCase(
        name: "Vary, each variant is kept",
        steps: [
          .asked(varied("a"), ["Foo": "1"]), .asked(varied("b"), ["Foo": "2"]), .stored("a", ["Foo": "1"]),
          .stored("b", ["Foo": "2"]),
        ]),
      HTTPCase(name: "Vary: *", steps: [.asked(varied("a", "*")), .asked(varied("b", "*"))]),
      HTTPCase(
        name: "Vary, other fields do not count",
        steps: [.asked(varied("a"), ["Foo": "1", "Bar": "1"]), .stored("a", ["Foo": "1", "Bar": "2"])]),
      HTTPCase(
        name: "Vary, three names",
        steps: [
          .asked(varied("a", "Foo, Bar, Baz"), ["Foo": "1", "Bar": "2"]),
          .stored("a", ["Bar": "2", "Foo": "1"]),
          .asked(varied("b", "Foo, Bar, Baz"), ["Foo": "1", "Bar": "2", "Baz": "3"]),
        ]),
      HTTPCase(
        name: "Vary, white space and lines of a list",
        steps: [.asked(varied("a"), ["Foo": "1,2"]), .stored("a", ["Foo": "1", "foo": "2"])]),
      HTTPCase(
        name: "Vary that comes with a 304",
        steps: [
          .asked(aged("max-age=60"), ["Foo": "1"]),
          .asked(
            .status(304, "", ["ETag": "\"1\"", "Cache-Control": "max-age=600", "Vary": "Foo"]), ["Foo": "1"],
            gives: "one", status: 200),
          .stored("one", ["Foo": "1"]), .asked(two, ["Foo": "2"], sent: ["If-None-Match": ""]),
        ]),
      HTTPCase(
        name: "Vary: * that comes with a 304",
        steps: [
          .asked(aged("max-age=60")),
          .asked(
            .status(304, "", ["ETag": "\"1\"", "Cache-Control": "max-age=600", "Vary": "*"]), gives: "one",
            status: 200),
          .asked(two),
        ]),
      HTTPCase(
        name: "Vary that comes with HEAD",
        steps: [
          .asked(ok(["Cache-Control": "max-age=0"]), ["Foo": "1"]),
          .asked(varied("one"), ["Foo": "1"], method: .head), .stored("one", ["Foo": "1"]),
          .asked(two, ["Foo": "2"]),
        ]),
      HTTPCase(name: "Vary: User-Agent", steps: [.asked(varied("a", "User-Agent")), .stored("a")]),
    ]
  }

  private static func validation(_ now: Int64) -> [HTTPCase] {
    let modified = date(-86_400, from: now)
    let dated = ok(["Last-Modified": modified, "Cache-Control": "max-age=0"])
    return [
      HTTPCase(
        name: "a strong tag validates",
        steps: [
          .asked(aged("max-age=60")),
          .asked(notModified, gives: "one", status: 200, sent: ["If-None-Match": "\"1\""]),
        ]),
      HTTPCase(
        name: "a weak tag validates",
        steps: [
          .asked(aged("max-age=60", tag: "W/\"1\"")),
          .asked(.status(304), gives: "one", status: 200, sent: ["If-None-Match": "W/\"1\""]),
        ]),
      HTTPCase(
        name: "Last-Modified validates",
        steps: [
          .asked(dated),
          .asked(.status(304), gives: "one", status: 200, sent: ["If-Modified-Since": modified]),
        ]),
      HTTPCase(
        name: "no-cache validates what is fresh",
        steps: [
          .asked(ok(["Cache-Control": "max-age=600, no-cache", "ETag": "\"1\""])),
          .asked(notModified, gives: "one", status: 200),
        ]),
      HTTPCase(
        name: "a 304 extends the lifetime",
        steps: [.asked(aged("max-age=60")), .asked(notModified, gives: "one", status: 200), .stored("one")]),
      HTTPCase(
        name: "a 304 updates fields and keeps the others",
        steps: [
          .asked(ok(["ETag": "\"1\"", "A": "1", "B": "1"])),
          .asked(
            .status(304, "", ["A": "2", "Cache-Control": "max-age=600"]), gives: "one", status: 200,
            received: ["A": "2", "B": "1"]),
          .stored("one", received: ["A": "2", "B": "1", "ETag": "\"1\""]),
        ]),
      HTTPCase(name: "a 200 replaces", steps: [.asked(aged("max-age=60")), .asked(two), .stored("two")]),
      HTTPCase(
        name: "a 304 for another tag is asked again, and refused if it insists",
        steps: [
          .asked(aged("max-age=60")), .failure(origin: .status(304, "", ["ETag": "\"2\""]), exchanges: 2),
        ]),
      HTTPCase(name: "a 304 that was not asked for", steps: [.failure(origin: .status(304))]),
      HTTPCase(
        name: "without a validator nothing is asked but the resource",
        steps: [.asked(ok([:])), .asked(two, sent: ["If-None-Match": "", "If-Modified-Since": ""])]),
    ]
  }

  private static func conditions(_ now: Int64) -> [HTTPCase] {
    let modified = date(-86_400, from: now)
    let dated = ok(["Last-Modified": modified, "Cache-Control": "max-age=600"])
    return [
      HTTPCase(
        name: "If-None-Match that matches",
        steps: [
          .asked(fresh), .stored("", ["If-None-Match": "\"1\""], status: 304, received: ["ETag": "\"1\""]),
        ]),
      HTTPCase(
        name: "If-None-Match that does not",
        steps: [.asked(fresh), .stored("one", ["If-None-Match": "\"2\""])]),
      HTTPCase(
        name: "If-None-Match with several",
        steps: [.asked(fresh), .stored("", ["If-None-Match": "\"2\", W/\"1\""], status: 304)]),
      HTTPCase(
        name: "If-None-Match: *", steps: [.asked(fresh), .stored("", ["If-None-Match": "*"], status: 304)]),
      HTTPCase(
        name: "If-Modified-Since that holds",
        steps: [.asked(dated), .stored("", ["If-Modified-Since": modified], status: 304)]),
      HTTPCase(
        name: "If-Modified-Since from before",
        steps: [.asked(dated), .stored("one", ["If-Modified-Since": date(-90_000, from: now)])]),
      HTTPCase(
        name: "a stale response is validated, then the caller's condition judged",
        steps: [
          .asked(aged("max-age=60")),
          .asked(
            notModified, ["If-None-Match": "\"1\", \"9\""], gives: "", status: 304,
            sent: ["If-None-Match": "\"1\""]),
          .stored("one"),
        ]),
      HTTPCase(
        name: "with nothing stored the condition is the origin's",
        steps: [.asked(notModified, ["If-None-Match": "\"1\""], sent: ["If-None-Match": "\"1\""])]),
      HTTPCase(
        name: "If-Match is the origin's",
        steps: [.asked(fresh), .asked(two, ["If-Match": "\"1\""], sent: ["If-Match": "\"1\""])]),
    ]
  }

  private static var ranges: [HTTPCase] {
    let whole = FixtureReply.ok("0123456789", ["Cache-Control": "max-age=600", "ETag": "\"1\""])
    func ranged(_ name: String, _ fields: HTTPFields, _ body: String, _ status: Int, _ range: String)
      -> HTTPCase
    {
      HTTPCase(
        name: name,
        steps: [.asked(whole), .stored(body, fields, status: status, received: ["Content-Range": range])])
    }
    return [
      ranged("a range of the stored body", ["Range": "bytes=0-1"], "01", 206, "bytes 0-1/10"),
      ranged("an open range", ["Range": "bytes=8-"], "89", 206, "bytes 8-9/10"),
      ranged("a suffix", ["Range": "bytes=-1"], "9", 206, "bytes 9-9/10"),
      ranged("a range outside", ["Range": "bytes=10-"], "", 416, "bytes */10"),
      ranged("If-Range that holds", ["Range": "bytes=0-1", "If-Range": "\"1\""], "01", 206, "bytes 0-1/10"),
      ranged("If-Range that does not", ["Range": "bytes=0-1", "If-Range": "\"2\""], "0123456789", 200, ""),
      ranged("several ranges", ["Range": "bytes=0-1,3-4"], "0123456789", 200, ""),
      HTTPCase(
        name: "a part is not stored",
        steps: [
          .asked(
            .status(206, "01", ["Content-Range": "bytes 0-1/10", "Cache-Control": "max-age=600"]),
            ["Range": "bytes=0-1"], sent: ["Range": "bytes=0-1"]),
          .asked(whole),
        ]),
    ]
  }

  private static var heads: [HTTPCase] {
    [
      HTTPCase(
        name: "HEAD is answered from GET",
        steps: [.asked(fresh), .stored("", method: .head, received: ["ETag": "\"1\""])]),
      HTTPCase(
        name: "HEAD stores nothing", steps: [.asked(fresh, method: .head), .asked(fresh), .stored("one")]),
      HTTPCase(
        name: "HEAD validates and freshens",
        steps: [
          .asked(aged("max-age=60")),
          .asked(notModified, gives: "", status: 200, method: .head, sent: ["If-None-Match": "\"1\""]),
          .stored("one"),
        ]),
      HTTPCase(
        name: "a 200 to HEAD freshens what it agrees with",
        steps: [
          .asked(ok(["Cache-Control": "max-age=0"])),
          .asked(ok(["Cache-Control": "max-age=600", "A": "2"]), method: .head),
          .stored("one", received: ["A": "2"]),
        ]),
      HTTPCase(
        name: "a 200 to HEAD makes invalid what it does not agree with",
        steps: [
          .asked(fresh),
          .asked(
            ok(["Cache-Control": "max-age=600", "ETag": "\"2\""]), ["Cache-Control": "no-cache"],
            method: .head),
          .asked(two),
        ]),
    ]
  }

  private static func asking(_ name: String, _ control: String, of reply: FixtureReply = fresh, reuses: Bool)
    -> HTTPCase
  {
    let fields: HTTPFields = ["Cache-Control": control]
    return HTTPCase(
      name: name, steps: [.asked(reply), reuses ? .stored("one", fields) : .asked(two, fields)])
  }

  private static var directives: [HTTPCase] {
    let hour = ok(["Cache-Control": "max-age=600", "Age": "300"])
    return [
      asking("request no-cache", "no-cache", reuses: false),
      HTTPCase(name: "request Pragma", steps: [.asked(fresh), .asked(two, ["Pragma": "no-cache"])]),
      asking("request max-age=0", "max-age=0", of: hour, reuses: false),
      asking("request max-age below Age", "max-age=299", of: hour, reuses: false),
      asking("request max-age above Age", "max-age=400", of: hour, reuses: true),
      asking("request min-fresh not met", "min-fresh=400", of: hour, reuses: false),
      asking("request min-fresh met", "min-fresh=200", of: hour, reuses: true),
      asking("request max-stale", "max-stale", of: aged("max-age=60"), reuses: true),
      asking("request max-stale, enough", "max-stale=100", of: aged("max-age=60"), reuses: true),
      asking("request max-stale, too little", "max-stale=30", of: aged("max-age=60"), reuses: false),
      asking(
        "max-stale against must-revalidate", "max-stale", of: aged("max-age=60, must-revalidate"),
        reuses: false),
      asking(
        "immutable on reload", "max-age=0", of: ok(["Cache-Control": "max-age=600, immutable", "Age": "9"]),
        reuses: true),
      asking("only-if-cached, stored", "only-if-cached", reuses: true),
      HTTPCase(
        name: "only-if-cached, nothing stored",
        steps: [.failure(["Cache-Control": "only-if-cached"], exchanges: 0)]),
      HTTPCase(
        name: "only-if-cached, stale",
        steps: [.asked(aged("max-age=60")), .failure(["Cache-Control": "only-if-cached"], exchanges: 0)]),
    ]
  }

  private static var staleness: [HTTPCase] {
    [
      HTTPCase(
        name: "stale-while-revalidate serves, and refreshes before the end",
        steps: [
          .asked(aged("max-age=60, stale-while-revalidate=600")),
          .init(reply: two, outcome: .init(kind: "stored", status: 200, body: "one", exchanges: 1)),
          .stored("two"),
        ]),
      HTTPCase(
        name: "a stale answer stands in for an origin that hangs up",
        steps: [.asked(aged("max-age=60")), .staleStored("one")]),
      HTTPCase(
        name: "not under must-revalidate", steps: [.asked(aged("max-age=60, must-revalidate")), .failure()]),
      HTTPCase(name: "not under no-cache", steps: [.asked(aged("max-age=60, no-cache")), .failure()]),
      HTTPCase(
        name: "not for a request with max-age",
        steps: [.asked(aged("max-age=60")), .failure(["Cache-Control": "max-age=600"])]),
      HTTPCase(
        name: "503 within stale-if-error",
        steps: [
          .asked(aged("max-age=60, stale-if-error=600")), .staleStored("one", origin: .status(503, "busy")),
        ]),
      HTTPCase(
        name: "503 without stale-if-error", steps: [.asked(aged("max-age=60")), .asked(.status(503, "busy"))]),
    ]
  }

  private static var served: [HTTPCase] {
    [
      HTTPCase(
        name: "a field that no-cache names is not served",
        steps: [
          .asked(ok(["Cache-Control": "max-age=600, no-cache=\"A\"", "A": "1", "B": "2"])),
          .stored("one", received: ["A": "", "B": "2"]),
        ]),
      HTTPCase(
        name: "Date is the origin's",
        steps: [
          .asked(ok(["Cache-Control": "max-age=99999999999", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"])),
          .stored("one", received: ["Date": "Sun, 06 Nov 1994 08:49:37 GMT"]),
        ]),
      HTTPCase(name: "nothing stored, origin gone", steps: [.failure()]),
    ]
  }
}
