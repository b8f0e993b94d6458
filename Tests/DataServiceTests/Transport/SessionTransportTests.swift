import CacheStore
import DataService
import FixtureServer
import Foundation
import TestSupport
import Testing
import TestTurns
import URLSessionTransport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("URLSession: what becomes of the caller's configuration", .inTurn) struct SessionTransportTests {
  @Test func `fields of the configuration are not sent, so that no credential is in no key`() async throws {
    let origin = try FixtureServer(routes: ["/a": .ok("hello")])
    let configuration = URLSessionConfiguration.default
    configuration.httpAdditionalHeaders = ["Authorization": "Bearer t3", "X-Own": "1"]
    let transport = SessionTransport(configuration: configuration)
    _ = try await transport.response(
      to: TransportRequest(url: origin.url("/a"), fields: ["X-Request": "2"], limits: .unhurried))
    let sent = try #require(origin.requests().first)
    #expect(sent["Authorization"] == nil && sent["X-Own"] == nil && sent["X-Request"] == "2")
  }

  @Test func `the configuration stays as it is`() {
    let configuration = URLSessionConfiguration.default
    configuration.httpAdditionalHeaders = ["X-Own": "1"]
    configuration.timeoutIntervalForRequest = 7
    configuration.httpMaximumConnectionsPerHost = 2
    configuration.httpShouldSetCookies = true
    _ = SessionTransport(configuration: configuration)
    #expect(configuration.httpAdditionalHeaders as? [String: String] == ["X-Own": "1"])
    #expect(configuration.timeoutIntervalForRequest == 7 && configuration.httpMaximumConnectionsPerHost == 2)
    #expect(configuration.httpShouldSetCookies)
  }
}
