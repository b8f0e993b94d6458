import CacheStore
import DataService
import PlatformFoundation
import Testing
import TestTurns

@Suite("Cache-Status, RFC 9211", .inTurn) struct CacheStatusTests {
  static let cases: [(CacheStatus, String)] = [
    (CacheStatus(), "cachefetch"), (CacheStatus(isHit: true, timeToLive: 60), "cachefetch; hit; ttl=60"),
    (CacheStatus(isHit: true, forward: .stale, timeToLive: -5), "cachefetch; hit; ttl=-5"),
    (CacheStatus(forward: .uriMiss, isStored: true), "cachefetch; fwd=uri-miss; stored"),
    (CacheStatus(forward: .varyMiss), "cachefetch; fwd=vary-miss"),
    (CacheStatus(forward: .stale, forwardStatus: 304), "cachefetch; fwd=stale; fwd-status=304"),
    (CacheStatus(forward: .miss, isCollapsed: true), "cachefetch; fwd=miss; collapsed"),
    (CacheStatus(forward: .bypass, detail: "no-store"), "cachefetch; fwd=bypass; detail=no-store"),
    (CacheStatus(detail: "a b"), "cachefetch; detail=\"a b\""),
    (CacheStatus(detail: "1"), "cachefetch; detail=\"1\""),
    (CacheStatus(detail: "a\"b\r\nü"), "cachefetch; detail=\"a\\\"b\""),
    (CacheStatus(detail: ""), "cachefetch; detail=\"\""),
    (
      CacheStatus(
        forward: .request, forwardStatus: 200, timeToLive: 0, isStored: true, isCollapsed: true, detail: "d"),
      "cachefetch; fwd=request; fwd-status=200; ttl=0; stored; collapsed; detail=d"
    ),
    (CacheStatus(forward: .method), "cachefetch; fwd=method"),
    (CacheStatus(forward: .partial), "cachefetch; fwd=partial"),
  ]

  @Test("Parameters stand in the order of the registry", arguments: cases)
  func format(status: CacheStatus, text: String) {
    #expect(status.formatted == text)
  }

  @Test("A detail is a token where it begins like one, RFC 8941 section 3.3.4") func detail() {
    let details: [(text: String, item: String)] = [
      ("*a", "*a"), ("a", "a"), ("z", "z"), ("A", "A"), ("Z", "Z"), ("a1", "a1"), ("`a", "\"`a\""),
      ("^a", "\"^a\""), ("_a", "\"_a\""), ("|a", "\"|a\""), ("~a", "\"~a\""), ("!a", "\"!a\""),
      ("a=", "\"a=\""),
      (" ", "\" \""), ("\u{1F}a", "a"), ("a\u{7F}", "a"), ("a~", "a~"), ("a\\", "\"a\\\\\""),
    ]
    for (text, item) in details {
      #expect(CacheStatus(detail: text).formatted == "cachefetch; detail=\(item)", "\(text)")
    }
  }
}
