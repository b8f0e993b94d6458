import CacheStore
import DataService
import Testing
import TestTurns

@Suite("Cache-Control parsing", .inTurn) struct CacheControlTests {
  @Test(
    "no-store is seen in any case, place and company",
    arguments: [
      "no-store", "NO-STORE", "No-Store", "no-cache, no-store", "max-age=1,no-store", ", ,no-store",
      "no-store=x",
      "no-store=\"\"", "x=\"a\", no-store", "x=\"a, no-store", "no-store ,max-age=9",
    ])
  func noStore(value: String) {
    #expect(CacheControl(value).noStore)
  }

  @Test(
    "no-store is seen where it is misspelt: what is not stored does less harm",
    arguments: [
      "max-age=60; no-store", "max-age=60;no-store", "no-store;", "no-store; max-age=60", "\"no-store\"",
      "'no-store'", "\"max-age=60, no-store\"", "max-age=60 no-store", "no-store no-cache",
      "private;NO-STORE",
      "x=\"a; no-store", "x=\"a\";no-store", "x= no-store \"a\"",
      "no-store;=", "; no-store", "max-age=60;\tno-store=1",
    ])
  func misspeltNoStore(value: String) {
    #expect(CacheControl(value).noStore)
    #expect(CacheControl.forbidsStoring(["Cache-Control": value]))
  }

  @Test(
    "no-store is not seen where it is not a directive",
    arguments: [
      "", "no-stores", "x-no-store", "x=no-store", "x=\"no-store\"", "x=\"a, no-store, b\"", "no store",
      "x=\"a; no-store\"", "no-stored;", ";no-store-at-all", "max-age=60; no_store",
    ])
  func notNoStore(value: String) {
    #expect(!CacheControl(value).noStore)
    #expect(!CacheControl.forbidsStoring(["Cache-Control": value]))
  }

  @Test(
    "max-age is a number of seconds, as a token or quoted",
    arguments: [
      ("max-age=0", .value(0)), ("max-age=60", .value(60)), ("MAX-AGE=60", .value(60)),
      ("max-age=\"60\"", .value(60)),
      ("max-age=0060", .value(60)), ("max-age=99999999999999999999", .value(2_147_483_648)),
      ("public, max-age=60", .value(60)), ("", .absent), ("s-maxage=60", .absent), ("x-max-age=60", .absent),
      ("x=\"max-age=3600\"", .absent), ("x=\"a, max-age=3600\", max-age=1", .value(1)),
    ] as [(String, CacheControl.Seconds)])
  func maxAge(value: String, expected: CacheControl.Seconds) {
    #expect(CacheControl(value).maxAge == expected)
  }

  @Test(
    "max-age that is no number of seconds is invalid, which counts as stale",
    arguments: [
      "max-age", "max-age=", "max-age=-1", "max-age=1.0", "max-age='60'", "max-age=60a", "max-age=a60",
      "max-age =60", "max-age= 60", "max-age=\"60", "max-age=60 60", "max-age=\"6\"0",
    ])
  func invalidMaxAge(value: String) {
    #expect(CacheControl(value).maxAge == .invalid)
  }

  @Test(
    "A directive repeated with one number counts once, with two it is invalid",
    arguments: [
      ("max-age=5, max-age=5", .value(5)), ("max-age=5, max-age=\"05\"", .value(5)),
      ("max-age=5, max-age=6", .invalid),
      ("max-age=5, max-age=x", .invalid),
    ] as [(String, CacheControl.Seconds)])
  func repeated(value: String, expected: CacheControl.Seconds) {
    #expect(CacheControl(value).maxAge == expected)
  }

  @Test("A combining mark does not hide an equals sign or a comma") func combiningMarks() {
    #expect(CacheControl("no-cache=\u{5A8}").noCache == .whole)
    #expect(CacheControl("x,\u{301}, no-store=\u{301}").noStore)
    #expect(CacheControl("max-age=\u{301}60").maxAge == .invalid)
  }

  @Test("Several field lines are one list") func lines() {
    let control = CacheControl(fields: ["Cache-Control": "max-age=5", "cache-control": "no-store"])
    #expect(control.noStore)
    #expect(control.maxAge == .value(5))
  }

  @Test(
    "no-cache means the whole response, or the fields it names",
    arguments: [
      ("", .absent), ("no-cache", .whole), ("No-Cache", .whole),
      ("no-cache=\"Set-Cookie\"", .fields(["set-cookie"])),
      ("no-cache=foo", .fields(["foo"])), ("no-cache=\"Foo, Bar\"", .fields(["foo", "bar"])),
      ("no-cache=\"Foo\", no-cache=\"Bar\"", .fields(["foo", "bar"])), ("no-cache=\"Foo\", no-cache", .whole),
      ("no-cache=\"\"", .whole), ("no-cache=", .whole), ("no-cache=\"a b\"", .whole),
      ("no-cache=\"a", .whole),
    ] as [(String, CacheControl.NoCache)])
  func noCache(value: String, expected: CacheControl.NoCache) {
    #expect(CacheControl(value).noCache == expected)
  }

  @Test(
    "max-stale asks for any staleness, or for so many seconds of it",
    arguments: [
      ("", .absent), ("max-stale", .any), ("max-stale=10", .seconds(10)), ("max-stale=x", .absent),
      ("max-stale=", .absent), ("max-stale, max-stale=10", .absent),
    ] as [(String, CacheControl.MaxStale)])
  func maxStale(value: String, expected: CacheControl.MaxStale) {
    #expect(CacheControl(value).maxStale == expected)
  }

  @Test("Directives without arguments are flags") func flags() {
    let control = CacheControl(
      "private, public, must-revalidate, must-understand, immutable, no-transform, only-if-cached")
    #expect(control.isPrivate && control.isPublic && control.mustRevalidate && control.mustUnderstand)
    #expect(control.isImmutable && control.has("no-transform") && control.onlyIfCached)
    let none = CacheControl("max-age=1")
    #expect(!none.isPrivate && !none.isPublic && !none.mustRevalidate && !none.mustUnderstand)
    #expect(!none.isImmutable && !none.has("no-transform") && !none.onlyIfCached)
  }

  @Test("Extension windows are numbers of seconds") func windows() {
    let control = CacheControl("stale-while-revalidate=1, stale-if-error=2, min-fresh=3")
    #expect(control.staleWhileRevalidate == .value(1))
    #expect(control.staleIfError == .value(2))
    #expect(control.minFresh == .value(3))
  }

  @Test("An unknown directive means nothing") func unknown() {
    let control = CacheControl("community=\"UCI\", foo=bar, max-age=5, ???")
    #expect(control.maxAge == .value(5))
    #expect(!control.noStore && control.noCache == .absent)
  }
}
