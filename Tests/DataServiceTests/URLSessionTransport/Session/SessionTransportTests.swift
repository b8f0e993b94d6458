import CacheStore
import FixtureServer
import PlatformNetworking
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import DataService
@testable import URLSessionTransport

@Suite("URLSession: what becomes of the caller's configuration", .inTurn) struct SessionTransportTests {
  @Test func `fields of the configuration are not sent, so that no credential is in no key`() async throws {
    let origin = try FixtureServer(routes: ["/a": .ok("hello")])
    let configuration = URLSessionConfiguration.default
    configuration.httpAdditionalHeaders = ["Authorization": "Bearer t3", "X-Own": "1"]
    let transport = SessionTransport(configuration: configuration)
    _ = try await transport.response(
      to: origin.request("/a", fields: ["X-Request": "2"]))
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

  @Test func `a 401 is an answer, and asks nobody for a credential`() async throws {
    let origin = try FixtureServer(routes: [
      "/a": FixtureReply(
        status: 401, fields: ["WWW-Authenticate": "Basic realm=\"r\""], body: Array("who?".utf8))
    ])
    let asked = Atomic(0)
    let transport = SessionTransport { _ in
      asked.add(1, ordering: .relaxed)
      return (.performDefaultHandling, nil)
    }
    let response = try await transport.response(
      to: origin.request("/a"))
    #expect(response.status == 401)
    #expect(try await response.body.text() == "who?")
    #expect(origin.requests().map { $0["Authorization"] } == [nil] && asked.load(ordering: .relaxed) == 0)
  }

  @Test func `where compression is off no coding is asked for, and what was decoded does not count as coded`()
    async throws
  {
    let origin = try FixtureServer(routes: ["/a": .ok(Gzip.hello, ["Content-Encoding": "gzip"])])
    var request = origin.request("/a")
    request.connection.isCompressed = false
    for accepted in [nil, "Identity"] as [String?] {
      request.fields["Accept-Encoding"] = accepted
      let response = try await SessionTransport().response(to: request)
      #expect(response.fields["Content-Encoding"] == nil && response.fields["Content-Length"] == nil)
      #expect(try await response.body.text() == "hello")
      #expect(response.body.length == nil)
    }
    #expect(origin.requests().map { $0["Accept-Encoding"]?.lowercased() } == ["identity", "identity"])
  }

  @Test func `what says of a coding that it is none, or none that URLSession decodes, is handed on`()
    async throws
  {
    let origin = try FixtureServer(routes: [
      "/plain": .ok("hello", ["Content-Encoding": "identity"]),
      "/other": .status(304, "", ["Content-Encoding": "x-own"]),
      "/part": FixtureReply(
        status: 206, fields: ["Content-Encoding": "gzip", "Content-Range": "bytes 0-24/25"],
        body: Gzip.hello),
    ])
    for (path, coding) in [("/plain", "identity"), ("/other", "x-own"), ("/part", "gzip")] {
      var request = origin.request(path)
      request.connection.isCompressed = false
      let response = try await SessionTransport().response(to: request)
      #expect(response.fields["Content-Encoding"] == coding, "\(path)")
    }
  }

  @Test func `an answer that is to stay in the coding that is asked for is refused before anything is sent`()
    async throws
  {
    let origin = try FixtureServer(routes: ["/a": .ok("hello")])
    var request = origin.request("/a", fields: ["Accept-Encoding": "gzip"])
    request.connection.isCompressed = false
    let error = await #expect(throws: DataServiceError.self) {
      _ = try await SessionTransport().response(to: request)
    }
    #expect(error?.kind == .invalidRequest)
    #expect(origin.requests().isEmpty)
    request.connection.isCompressed = true
    #expect(try await SessionTransport().response(to: request).body.text() == "hello")
  }

  @Test func `a request says who sends it, unless it says so itself`() async throws {
    let origin = try FixtureServer(routes: ["/a": .ok("hello")])
    for fields in [[:], ["user-agent": "mine/1"]] as [HTTPFields] {
      _ = try await SessionTransport().response(to: origin.request("/a", fields: fields))
    }
    #expect(origin.requests().map { $0["User-Agent"] } == ["cachefetch/\(Version.string)", "mine/1"])
  }

  @Test func `a URL of https is one that can be asked for`() async throws {
    let origin = try FixtureServer(routes: ["/a": .ok("hello")])
    origin.stop()
    let url = try #require(URL(string: "https://127.0.0.1:\(origin.port)/a"))
    let error = await #expect(throws: DataServiceError.self) {
      _ = try await SessionTransport().response(to: TransportRequest(url: url, limits: .unhurried))
    }
    #expect(error?.kind != .invalidRequest)
    withExtendedLifetime(origin) {}
  }

  @Test func `challenges of the connection are the program's to answer, and those of the request are not`()
    async throws
  {
    let seen = Mutex<[String]>([])
    let asking = SessionDelegate { challenge in
      seen.withLock { $0.append(challenge.protectionSpace.host) }
      return (.cancelAuthenticationChallenge, nil)
    }
    let session = URLSession(configuration: .ephemeral)
    let task = session.dataTask(with: try #require(URL(string: "https://a.test/")))
    func answer(_ delegate: SessionDelegate, _ method: String) async -> URLSession.AuthChallengeDisposition {
      let space = URLProtectionSpace(
        host: method, port: 443, protocol: "https", realm: nil, authenticationMethod: method)
      let challenge = URLAuthenticationChallenge(
        protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil,
        error: nil, sender: NobodyAnswers())
      return await withCheckedContinuation { continuation in
        delegate.urlSession(session, task: task, didReceive: challenge) { disposition, _ in
          continuation.resume(returning: disposition)
        }
      }
    }
    let ofConnection = connectionChallenges
    let ofRequest = [NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest]
    for method in ofConnection {
      #expect(await answer(asking, method) == .cancelAuthenticationChallenge, "\(method)")
      #expect(await answer(SessionDelegate(), method) == .performDefaultHandling, "\(method)")
    }
    for method in ofRequest {
      #expect(await answer(asking, method) != .useCredential, "\(method)")
    }
    #expect(seen.withLock { $0 } == ofConnection)
    session.invalidateAndCancel()
  }
}

private final class NobodyAnswers: NSObject, URLAuthenticationChallengeSender {
  func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
  func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
  func cancel(_ challenge: URLAuthenticationChallenge) {}
  func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
  func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}
