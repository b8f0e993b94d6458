import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import RedisTier
import TestSupport
import TestTurns
import Testing

/// RFC 9110 section 8.4, among machines.
@Suite("Coded bodies that a fleet shares, and those who want them decoded", .inTurn) struct SharedBodyTests {
  private let url: URL
  init() throws { url = try #require(URL(string: "https://origin.test/item")) }

  /// Bodies as a transport hands them over that decodes where it is asked to. The validator is the same both ways.
  private func transport(saysLength: Bool) -> ScriptedTransport {
    ScriptedTransport { request, _ in
      if request.fields["If-None-Match"] != nil { return .answer("", status: 304, ["ETag": "\"1\""]) }
      var fields: HTTPFields = ["ETag": "\"1\"", "Content-Encoding": "gzip"]
      if saysLength { fields.append("Content-Length", "5") }
      return .answer(request.connection.isCompressed ? "decoded" : "coded", fields)
    }
  }

  @Test("what another machine stored coded is nothing to a load that decodes", arguments: [true, false])
  func coded(saysLength: Bool) async throws {
    let tier = FakeTier()
    let (first, second) = (transport(saysLength: saysLength), transport(saysLength: saysLength))
    let coding = try FleetMachine(tier) { request, _ async throws(DataServiceError) in
      try await first.response(to: request)
    }
    #expect(await coding.outline(url) { $0.connection.isCompressed = false } == ["fresh(coded, new)"])
    #expect(tier.bodies == ["coded"])
    let decoding = try FleetMachine(tier) { request, _ async throws(DataServiceError) in
      try await second.response(to: request)
    }
    #expect(await decoding.outline(url) == ["fresh(decoded, new)"])
    #expect(second.requests.map { $0.fields["If-None-Match"] } == [nil])
    // It has taken the coded one's place, for those who decode; what a 304 confirms stays decoded.
    #expect(tier.bodies == ["decoded"])
    #expect(await decoding.outline(url) == ["stored(decoded)", "fresh(decoded, unchanged)"])
    let third = try FleetMachine.offline(tier)
    #expect(await third.outline(url) == ["tier(decoded)", "failure(offline, last decoded)"])
    #expect(await third.stored(url) == ["stored(decoded)"])
  }

  @Test(
    "what a load that does not decode has confirmed of a decoded body stays so", arguments: [true, false])
  func decoded(saysLength: Bool) async throws {
    let tier = FakeTier()
    for outline in [["fresh(decoded, new)"], ["tier(decoded)", "fresh(decoded, unchanged)"]] {
      let transport = transport(saysLength: saysLength)
      let machine = try FleetMachine(tier) { request, _ async throws(DataServiceError) in
        try await transport.response(to: request)
      }
      let isFirst = outline.count == 1
      #expect(await machine.outline(url) { $0.connection.isCompressed = isFirst } == outline)
    }
    #expect(try await FleetMachine.offline(tier).outline(url).first == "tier(decoded)")
  }
}
