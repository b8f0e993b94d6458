import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

/// A row may hold a body as it came, coded, or decoded: RFC 9110 section 8.4.
@Suite("Coded bodies, and those who want them decoded", .inTurn) struct CodedBodyTests {
  private let url = URL(string: "http://origin.test/item")

  /// Bodies as a transport hands them over that decodes where it is asked to. The validator is the same both ways.
  private func transport(saysLength: Bool) -> ScriptedTransport {
    ScriptedTransport { request, _ in
      if request.fields["If-None-Match"] != nil { return .answer("", status: 304, ["ETag": "\"1\""]) }
      var fields: HTTPFields = ["ETag": "\"1\"", "Content-Encoding": "gzip"]
      if saysLength { fields.append("Content-Length", "5") }
      return .answer(request.connection.isCompressed ? "decoded" : "coded", fields)
    }
  }

  @Test("what was stored coded is nothing to a load that decodes", arguments: [true, false], [true, false])
  func coded(saysLength: Bool, isHTTP: Bool) async throws {
    let url = try #require(url)
    let transport = transport(saysLength: saysLength)
    let fixture = try ServiceFixture(transport: transport)
    let undecoded = await fixture.outline(url, policy: isHTTP ? .http : .storedThenFresh) {
      $0.connection.isCompressed = isHTTP
    }
    #expect(undecoded == ["fresh(coded, new)"])
    #expect(await fixture.outline(url, policy: .storedOnly) == ["failure(notStored)"])
    // No validator of the coded bytes is sent for the decoded ones.
    #expect(await fixture.outline(url).last?.hasPrefix("fresh(decoded, ") == true)
    #expect(transport.requests.last?.fields["If-None-Match"] == nil)
    #expect(await fixture.outline(url) == ["stored(decoded)", "fresh(decoded, unchanged)"])
    await fixture.service.close()
  }

  @Test func `what was stored decoded stays for those who decode, whatever length the origin said`()
    async throws
  {
    let url = try #require(url)
    for saysLength in [true, false] {
      let fixture = try ServiceFixture(transport: transport(saysLength: saysLength))
      #expect(await fixture.outline(url) == ["fresh(decoded, new)"], "\(saysLength)")
      #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(decoded)"], "\(saysLength)")
      await fixture.service.close()
    }
  }

  @Test func `coded for those who want it so it stays`() async throws {
    let url = try #require(url)
    let fixture = try ServiceFixture(transport: transport(saysLength: false))
    for outline in [["fresh(coded, new)"], ["stored(coded)", "fresh(coded, unchanged)"]] {
      #expect(await fixture.outline(url) { $0.connection.isCompressed = false } == outline)
    }
    await fixture.service.close()
  }
}
