import CacheStore
import DataService
import FixtureServer
import Foundation
import TestSupport
import Testing

@Suite("libcurl transport") struct CurlTransportTests {
  @Test func `a GET brings version, status, reason, fields and body`() async throws {
    let origin = try FixtureServer(routes: [
      "/a": FixtureReply(
        status: 200, reason: "Fine", fields: ["ETag": "\"1\"", "X-A": "b"], body: Array("hello".utf8))
    ])
    let response = try await CurlTransport().response(to: TransportRequest(url: origin.url("/a")))
    #expect(response.version == "1.1")
    #expect(response.status == 200)
    #expect(response.reason == "Fine")
    #expect(response.fields["etag"] == "\"1\"")
    #expect(response.body.length == 5)
    #expect(try await response.body.text() == "hello")
    let sent = try #require(origin.requests().first)
    #expect(sent["User-Agent"] == "cachefetch/\(Release.version)")
    #expect(sent["Accept-Encoding"]?.contains("gzip") == true)
  }

  @Test func `connections are kept and used again`() async throws {
    let origin = try FixtureServer(routes: ["/a": .ok("hello")])
    let transport = CurlTransport()
    for _ in 0..<20 {
      let response = try await transport.response(to: TransportRequest(url: origin.url("/a")))
      #expect(try await response.body.text() == "hello")
    }
    #expect(origin.acceptedConnections == 1)
  }

  @Test func `a missing library says which package to install`() async throws {
    var configuration = CurlTransport.Configuration()
    configuration.libraryName = "libcurl-that-is-not-there.so.4"
    let transport = CurlTransport(configuration: configuration)
    let url = try #require(URL(string: "http://127.0.0.1:9/"))
    let error = await #expect(throws: DataServiceError.self) {
      _ = try await transport.response(to: TransportRequest(url: url))
    }
    #expect(error?.kind == .libraryMissing)
    #expect(error?.hint?.contains("libcurl4") == true)
  }
}

extension DataService.BodyStream {
  func text() async throws(DataServiceError) -> String {
    var all = Data()
    while let piece = try await next() { all.append(piece) }
    return String(decoding: all, as: UTF8.self)
  }
}
