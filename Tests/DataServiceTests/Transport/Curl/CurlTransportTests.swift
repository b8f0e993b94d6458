import CacheStore
import DataService
import FixtureServer
import Foundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("libcurl transport", .inTurn) struct CurlTransportTests {
  @Test func `a GET brings version, status, reason, fields and body`() async throws {
    let origin = try FixtureServer(routes: [
      "/a": FixtureReply(
        status: 200, reason: "Fine", fields: ["ETag": "\"1\"", "X-A": "b"], body: Array("hello".utf8))
    ])
    let response = try await CurlTransport().response(to: origin.request("/a"))
    #expect(response.version == "1.1")
    #expect(response.status == 200)
    #expect(response.reason == "Fine")
    #expect(response.fields["etag"] == "\"1\"")
    #expect(response.body.length == 5)
    #expect(try await response.body.text() == "hello")
    let sent = try #require(origin.requests().first)
    #expect(sent["User-Agent"] == "cachefetch/\(Version.string)")
    #expect(sent["Accept-Encoding"]?.contains("gzip") == true)
  }

  @Test
  func
    `headers that libcurl's buffer does not hold are the request's fault, and the longest that are sent arrive`()
    async throws
  {
    let origin = try FixtureServer(routes: ["/a": .ok("hello")])
    var request = origin.request("/a")
    request.fields["X"] = String(repeating: "x", count: 900_000)
    let error = await #expect(throws: DataServiceError.self) {
      _ = try await CurlTransport().response(to: request)
    }
    #expect(error?.kind == .invalidRequest && error?.message.contains("900005 bytes") == true)
    #expect(origin.requests().isEmpty)
    request.method = .post
    request.body = Data(repeating: 1, count: 64_000)
    request.fields["X"] = String(repeating: "x", count: 899_995)
    do {
      _ = try await CurlTransport().response(to: request)
    } catch {
      // Refused by the origin, perhaps, but sent.
      #expect(error.kind != .protocol && error.kind != .invalidRequest)
    }
    #expect(origin.acceptedConnections == 1)
  }

  @Test func `connections are kept and used again`() async throws {
    let origin = try FixtureServer(routes: ["/a": .ok("hello")])
    let transport = CurlTransport()
    for _ in 0..<20 {
      let response = try await transport.response(to: origin.request("/a"))
      #expect(try await response.body.text() == "hello")
    }
    #expect(origin.acceptedConnections == 1)
  }

  @Test func `a body that may be sent twice is sent anew where a kept connection has ended`() async throws {
    let posts = Atomic(0)
    let origin = try FixtureServer { request, connection in
      if request.method == "POST", posts.add(1, ordering: .relaxed).newValue == 1 {
        return connection.close()
      }
      try connection.send(.ok(request.body))
    }
    let transport = CurlTransport()
    #expect(try await transport.response(to: origin.request("/")).body.text() == "")
    var request = origin.request("/", method: .post, body: Data("pay nothing".utf8))
    request.isRepeatable = true
    #expect(try await transport.response(to: request).body.text() == "pay nothing")
    #expect(origin.requests().map(\.bodyText) == ["", "pay nothing", "pay nothing"])
  }

  @Test
  func `services that share a transport run on its thread, and the end of one is not the end of the others`()
    async throws
  {
    let origin = try FixtureServer(routes: ["/a": .ok("hello")])
    let transport = CurlTransport()
    let (one, other) = (try ServiceFixture(transport: transport), try ServiceFixture(transport: transport))
    #expect(one.service.executor === other.service.executor)
    func load(_ fixture: ServiceFixture) async -> [String] {
      await fixture.outline(origin.url("/a")) { $0.limits = .unhurried }
    }
    #expect(await load(one) == ["fresh(hello, new)"])
    await one.service.close()
    #expect(await load(other) == ["fresh(hello, new)"])
    #expect(origin.acceptedConnections == 1)
    await other.service.close()
  }

  @Test func `a missing library says which package to install`() async throws {
    var configuration = CurlConfiguration()
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
