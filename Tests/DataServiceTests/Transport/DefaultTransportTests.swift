import CacheStore
import DataService
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns
import URLSessionTransport

@Suite("The transport of a service that is given none", .inTurn) struct DefaultTransportTests {
  @Test func `it fetches, validates and stores, by URLSession where the build has no libcurl`() async throws {
    let origin = try FixtureServer { request, connection in
      let isKnown = request["If-None-Match"] == "\"1\""
      try connection.send(
        isKnown ? .status(304, "", ["ETag": "\"1\""]) : .ok("hello", ["ETag": "\"1\""]))
    }
    let fixture = try ServiceFixture()
    let first = await fixture.deliveries(origin.url("/a"))
    #expect(first.map(\.outline) == ["fresh(hello, new)"] && first.first?.kept == .yes)
    #expect(
      await fixture.outline(origin.url("/a")) == ["stored(hello)", "fresh(hello, unchanged)"])
    #expect(await fixture.outline(origin.url("/a"), policy: .storedOnly) == ["stored(hello)"])
    #expect(origin.requests().map { $0["If-None-Match"] } == [nil, "\"1\""])
    // URLSession shows no reason phrase.
    let reason = try #require(first.first?.fresh).head.reason
    #if !PORTABLE
      #expect(reason == "OK")
    #else
      #expect(reason.isEmpty)
    #endif
    await fixture.service.close()
  }

  @Test func `what performs the exchanges is named`() throws {
    #if !PORTABLE
      #expect(try SystemTransport.version().hasPrefix("libcurl "))
    #else
      #expect(try SystemTransport.version() == "URLSession")
    #endif
  }

  /// Whoever imports either module has both, wherever the transport is written.
  @Test func `a transport over URLSession can be given everywhere`() async throws {
    let origin = try FixtureServer(routes: ["/a": .ok("hello")])
    let fixture = try ServiceFixture(transport: SessionTransport())
    let outline = await fixture.outline(origin.url("/a"), policy: .freshOnly) { $0.limits = .unhurried }
    #expect(outline == ["fresh(hello, new)"])
    await fixture.service.close()
  }
}
