import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// What an exchange keeps apart of the URLs on its way.
@Suite("Exchanges that were redirected", .inTurn) struct RedirectedExchangeTests {
  @Test func `what is stored says who answered, where that is another, and is validated there`()
    async throws
  {
    let fixture = try ServiceFixture.scripted { request, _ in
      if request.url.path == "/a" { return .answer("", status: 301, ["Location": "/b"]) }
      if request.fields["If-None-Match"] != nil { return .answer("", status: 304, ["ETag": "\"1\""]) }
      return .answer("body", ["ETag": "\"1\""])
    }
    let url = try #require(URL(string: "http://origin.test/a"))
    let fresh = try #require(await fixture.deliveries(url).last?.fresh)
    #expect(fresh.head.url == "http://origin.test/b")
    let stored = try #require(await fixture.deliveries(url, policy: .storedOnly).first?.stored)
    #expect(stored.head.url == "http://origin.test/b")
    #expect(await fixture.outline(url) == ["stored(body)", "fresh(body, unchanged)"])
    #expect(fixture.requests.map { $0.fields["If-None-Match"] } == [nil, nil, nil, "\"1\""])
    let direct = try #require(URL(string: "http://origin.test/b"))
    #expect(await fixture.outline(direct) == ["fresh(body, new)"])
    let rows = try fixture.store.rows("SELECT response_url FROM last_request ORDER BY target")
    #expect(rows.map { $0.first?.text } == ["http://origin.test/b", nil])
    await fixture.service.close()
  }

  @Test func `a failure behind a redirect names who redirected, and where to`() async throws {
    let fixture = try ServiceFixture.scripted { request, _ throws(DataServiceError) in
      if request.url.path == "/a" {
        return .answer("", status: 302, ["Location": "http://b.test:1/x?token=secret"])
      }
      throw DataServiceError(
        .refused, "b.test refused the connection", hint: "the server may be down",
        underlying: CancellationError())
    }
    let url = try #require(URL(string: "http://origin.test/a"))
    let error = try #require(await fixture.deliveries(url).last?.error)
    #expect(error.kind == .refused && error.hint == "the server may be down")
    #expect(error.underlying is CancellationError)
    #expect(
      error.message.hasPrefix("origin.test redirects to “http://b.test:1/x?token=~"), "\(error.message)")
    #expect(error.message.hasSuffix("”: b.test refused the connection"), "\(error.message)")
    await fixture.service.close()
  }

  @Test func `a redirect to what cannot be asked is the fault of who redirects`() async throws {
    let fixture = try ServiceFixture.scripted { request, _ throws(DataServiceError) in
      switch request.url.path {
      case "/a": return .answer("", status: 301, ["Location": "/b"])
      case "/b": return .answer("", status: 301, ["Location": "http://u:secret@a b/?token=secret"])
      default: throw DataServiceError(.invalidRequest, "the URL is malformed")
      }
    }
    let redirected = try #require(URL(string: "http://origin.test/a"))
    let error = try #require(await fixture.deliveries(redirected).last?.error)
    #expect(error.kind == .protocol)
    #expect((error.underlying as? DataServiceError)?.kind == .invalidRequest)
    #expect(error.message.hasPrefix("origin.test redirects to “http://a%20b/?token=~"), "\(error.message)")
    #expect(error.message.hasSuffix("”, which cannot be asked: the URL is malformed"), "\(error.message)")
    #expect(!error.message.contains("secret"))
    // Without a redirect it is the caller's.
    let own = try #require(URL(string: "http://origin.test/c"))
    #expect(await fixture.outline(own) == ["failure(invalidRequest)"])
    await fixture.service.close()
  }

  @Test func `a client certificate goes to the origin that was asked for, and to no other`() async throws {
    let fixture = try ServiceFixture.scripted { request, _ in
      switch request.url.absoluteString {
      case "https://origin.test/a": .answer("", status: 301, ["Location": "/b"])
      case "https://origin.test/b": .answer("", status: 301, ["Location": "https://elsewhere.test/"])
      default: .answer("body")
      }
    }
    let url = try #require(URL(string: "https://origin.test/a"))
    let outline = await fixture.outline(url) { $0.connection.clientCertificateFile = "/etc/passwd" }
    #expect(outline == ["fresh(body, new)"])
    #expect(
      fixture.requests.map { $0.connection.clientCertificateFile } == ["/etc/passwd", "/etc/passwd", nil])
    await fixture.service.close()
  }
}
