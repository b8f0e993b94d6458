import CacheStore
import DataService
import DataServiceTesting
import PlatformNetworking
import TestSupport
import Testing
import TestTurns
import URLSessionTransport

@Suite("URLSession: conversions", .inTurn) struct URLSessionConversionTests {
  @Test func `a URLRequest becomes a request and back`() throws {
    var request = URLRequest(url: try #require(URL(string: "http://origin.test/a?b")), timeoutInterval: 7)
    request.httpMethod = "PUT"
    request.httpBody = Data("x".utf8)
    request.setValue("text/x", forHTTPHeaderField: "Content-Type")
    let converted = try #require(DataService.Request(request))
    #expect(converted.url == request.url && converted.method == .put && converted.body == request.httpBody)
    #expect(converted.fields["content-type"] == "text/x")
    #expect(converted.limits.idleTimeout == .seconds(7))
    let back = URLRequest(converted)
    #expect(back.url == request.url && back.httpMethod == "PUT" && back.httpBody == request.httpBody)
    #expect(back.value(forHTTPHeaderField: "Content-Type") == "text/x")
  }

  @Test func `a time-out of less than a year is the limit for silence and for the first byte`() throws {
    let url = try #require(URL(string: "http://origin.test/"))
    let year: TimeInterval = 86_400 * 365
    let limits = Limits()
    let cases: [(interval: TimeInterval, idle: Duration, firstByte: Duration)] = [
      (0.5, .milliseconds(500), .milliseconds(500)), (7, .seconds(7), .seconds(7)),
      (year - 1, .seconds(31_535_999), .seconds(31_535_999)),
      // None, as far as anybody can tell.
      (year, limits.idleTimeout, limits.firstByteTimeout), (0, limits.idleTimeout, limits.firstByteTimeout),
    ]
    for (interval, idle, firstByte) in cases {
      let converted = try #require(DataService.Request(URLRequest(url: url, timeoutInterval: interval)))
      #expect(converted.limits.idleTimeout == idle, "\(interval)")
      #expect(converted.limits.firstByteTimeout == firstByte, "\(interval)")
    }
  }

  @Test(
    "a cache policy of URLSession is the fetch policy that asks the store and the origin as it does",
    arguments: [
      (URLRequest.CachePolicy.useProtocolCachePolicy, FetchPolicy.http),
      (.reloadIgnoringLocalCacheData, .freshOnly), (.returnCacheDataDontLoad, .storedOnly),
      (.returnCacheDataElseLoad, .storedElseFresh(maxAge: .seconds(3_155_760_000))),
    ] as [(URLRequest.CachePolicy, FetchPolicy)]) func policies(
      policy: URLRequest.CachePolicy, expected: FetchPolicy
    )
  {
    #expect(FetchPolicy(policy) == expected)
  }

  @Test func `a head becomes an HTTPURLResponse`() async throws {
    let fixture = try ServiceFixture.scripted { _, _ in
      .answer("hello", ["Content-Type": "text/plain", "X-Part": "a", "x-part": "b"])
    }
    let url = try #require(URL(string: "http://origin.test/item"))
    guard case .fresh(let response, _) = await fixture.deliveries(url).first else {
      Issue.record("no fresh delivery")
      return
    }
    let converted = try #require(HTTPURLResponse(response.head))
    #expect(converted.statusCode == 200 && converted.url == url)
    #expect(converted.value(forHTTPHeaderField: "Content-Type") == "text/plain")
    #expect(converted.value(forHTTPHeaderField: "X-Part") == "a, b")
    await fixture.service.close()
  }

  @Test func `what URLSession has no means for is refused, not ignored`() async throws {
    let url = try #require(URL(string: "http://origin.test/"))
    let changes: KeyValuePairs<String, (inout ConnectionOptions) -> Void> = [
      "isInsecure": { $0.isInsecure = true }, "unixSocket": { $0.unixSocket = "/x" },
      "proxy": { $0.proxy = "http://p" }, "isHTTP11Only": { $0.isHTTP11Only = true },
      "certificateAuthorityFile": { $0.certificateAuthorityFile = "/x" },
      "certificateAuthorityFolder": { $0.certificateAuthorityFolder = "/x" },
      "clientCertificateFile": { $0.clientCertificateFile = "/x" },
      "clientKeyFile": { $0.clientKeyFile = "/x" },
      "resolutions": { $0.resolutions = [.init(host: "a", port: 1, address: "b")] },
    ]
    for (name, change) in changes {
      var request = TransportRequest(url: url)
      change(&request.connection)
      let error = await #expect(throws: DataServiceError.self, "\(name)") {
        _ = try await SessionTransport().response(to: request)
      }
      #expect(error?.kind == .invalidRequest, "\(name)")
    }
  }
}
