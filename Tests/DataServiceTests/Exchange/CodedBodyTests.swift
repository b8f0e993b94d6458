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
  private func transport(saysLength: Bool) -> ScriptedTransport { transport(length: saysLength ? "5" : nil) }

  private func transport(length: String?) -> ScriptedTransport {
    ScriptedTransport { request, _ in
      if request.fields["If-None-Match"] != nil { return .answer("", status: 304, ["ETag": "\"1\""]) }
      var fields: HTTPFields = ["ETag": "\"1\"", "Content-Encoding": "gzip"]
      if let length { fields.append("Content-Length", length) }
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
    // The third is the length of the decoded body, too.
    for length in [nil, "5", "7"] {
      let fixture = try ServiceFixture(transport: transport(length: length))
      #expect(await fixture.outline(url) == ["fresh(decoded, new)"], "\(length ?? "none")")
      #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(decoded)"], "\(length ?? "none")")
      // What a 304 confirms, and what a load that does not decode confirms, stays decoded.
      for isCompressed in [true, false] {
        let outline = await fixture.outline(url) { $0.connection.isCompressed = isCompressed }
        #expect(outline == ["stored(decoded)", "fresh(decoded, unchanged)"], "\(length ?? "none")")
      }
      #expect(await fixture.outline(url, policy: .storedOnly) == ["stored(decoded)"], "\(length ?? "none")")
      await fixture.service.close()
    }
  }

  @Test("an empty body is in no coding, whatever is said of it", arguments: [true, false])
  func empty(isCompressed: Bool) async throws {
    let url = try #require(url)
    let fixture = try ServiceFixture.scripted { request, _ in
      if request.fields["If-None-Match"] != nil { return .answer("", status: 304, ["ETag": "\"1\""]) }
      return .answer("", ["ETag": "\"1\"", "Content-Encoding": "gzip", "Content-Length": "0"])
    }
    let first = await fixture.outline(url) { $0.connection.isCompressed = isCompressed }
    #expect(first == ["fresh(, new)"])
    #expect(await fixture.outline(url) == ["stored()", "fresh(, unchanged)"])
    for policy in [FetchPolicy.storedOnly, .http] {
      let delivery = await fixture.deliveries(url, policy: policy).first
      #expect(delivery?.response?.fields.contains("Content-Encoding") == false, "\(policy)")
    }
    await fixture.service.close()
  }

  @Test(
    "what is in a coding that is registered nowhere is for everyone as it came", arguments: ["utf-8", "none"])
  func unregistered(coding: String) async throws {
    let url = try #require(url)
    let fixture = try ServiceFixture.scripted { _, _ in
      .answer("body", ["Content-Encoding": coding, "Content-Length": "4"])
    }
    for isCompressed in [false, true] {
      _ = await fixture.outline(url) { $0.connection.isCompressed = isCompressed }
      for other in [false, true] {
        let stored = await fixture.outline(url, policy: .storedOnly) { $0.connection.isCompressed = other }
        #expect(stored == ["stored(body)"], "\(isCompressed), \(other)")
      }
    }
    await fixture.service.close()
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
}
