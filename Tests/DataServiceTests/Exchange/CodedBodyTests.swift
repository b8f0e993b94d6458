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

  @Test("under http what was stored decoded is delivered as that", arguments: [true, false], [true, false])
  func decodedUnderHTTP(saysLength: Bool, isFresh: Bool) async throws {
    let url = try #require(url)
    let fixture = try ServiceFixture(
      transport: ScriptedTransport { request, _ in
        var fields: HTTPFields = ["ETag": "\"1\"", "Cache-Control": "max-age=\(isFresh ? 600 : 0)"]
        if request.fields["If-None-Match"] != nil { return .answer("", status: 304, fields) }
        fields.append("Content-Encoding", "gzip")
        if saysLength { fields.append("Content-Length", "5") }
        return .answer("decoded", fields)
      })
    let ordinary = await fixture.deliveries(url)
    #expect(ordinary.first?.response?.fields["Content-Encoding"] == "gzip", "as received")
    let deliveries = await fixture.deliveries(url, policy: .http)
    #expect(deliveries.map(\.outline) == [isFresh ? "stored(decoded)" : "fresh(decoded, unchanged)"])
    let fields = try #require(deliveries.first?.response?.fields)
    #expect(fields["Content-Encoding"] == nil)
    #expect(fields["Content-Length"] == (saysLength ? "7" : nil))
    await fixture.service.close()
  }

  @Test func `coded for those who want it so it stays`() async throws {
    let url = try #require(url)
    let fixture = try ServiceFixture(transport: transport(saysLength: false))
    for outline in [["fresh(coded, new)"], ["stored(coded)", "fresh(coded, unchanged)"]] {
      #expect(await fixture.outline(url) { $0.connection.isCompressed = false } == outline)
    }
    await fixture.service.close()
  }

  @Test("what another machine stored coded is nothing to a load that decodes", arguments: [true, false])
  func codedInTier(saysLength: Bool) async throws {
    let url = try #require(URL(string: "https://origin.test/item"))
    let tier = FakeTier()
    let (first, second) = (transport(saysLength: saysLength), transport(saysLength: saysLength))
    let coding = try Machine(tier) { request, _ async throws(DataServiceError) in
      try await first.response(to: request)
    }
    #expect(await coding.outline(url) { $0.connection.isCompressed = false } == ["fresh(coded, new)"])
    #expect(tier.bodies == ["coded"])
    let decoding = try Machine(tier) { request, _ async throws(DataServiceError) in
      try await second.response(to: request)
    }
    #expect(await decoding.outline(url) == ["fresh(decoded, new)"])
    #expect(second.requests.map { $0.fields["If-None-Match"] } == [nil])
    // It has taken the coded one's place, for those who decode; what a 304 confirms stays decoded.
    #expect(tier.bodies == ["decoded"])
    #expect(await decoding.outline(url) == ["stored(decoded)", "fresh(decoded, unchanged)"])
    let third = try Machine.offline(tier)
    #expect(await third.outline(url) == ["tier(decoded)", "failure(offline, last decoded)"])
    #expect(await third.stored(url) == ["stored(decoded)"])
  }

  @Test(
    "what a load that does not decode has confirmed of a decoded body stays so", arguments: [true, false])
  func decodedInTier(saysLength: Bool) async throws {
    let url = try #require(URL(string: "https://origin.test/item"))
    let tier = FakeTier()
    for outline in [["fresh(decoded, new)"], ["tier(decoded)", "fresh(decoded, unchanged)"]] {
      let transport = transport(saysLength: saysLength)
      let machine = try Machine(tier) { request, _ async throws(DataServiceError) in
        try await transport.response(to: request)
      }
      let isFirst = outline.count == 1
      #expect(await machine.outline(url) { $0.connection.isCompressed = isFirst } == outline)
    }
    #expect(try await Machine.offline(tier).outline(url).first == "tier(decoded)")
  }
}
