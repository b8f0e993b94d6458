import CCurl
import DataService
import FixtureServer
import Foundation
import TestSupport
import Testing
import TestTurns

@testable import RedisTier

@Suite("A connection without HTTP: libcurl's options", .inTurn) struct RawHandleTests {
  /// How a connection ends that cannot be made.
  private static func ending(of endpoint: RawEndpoint, by libcurl: ChangedLibcurl) async -> DataServiceError {
    let thread = NetworkThread()
    let engine = RawEngine(libraryName: libcurl.path)
    let error: DataServiceError = await withCheckedContinuation { continuation in
      thread.perform {
        let connection = RawConnection(to: endpoint, by: engine, on: thread) { event in
          if case .ended(let reason) = event { continuation.resume(returning: reason) }
        }
        connection.open()
      }
    }
    await thread.stop()
    return error
  }

  /// Endpoints that together have every option; nobody listens there.
  private static func endpoints(_ origin: FixtureServer, _ folder: TemporaryFolder) -> [RawEndpoint] {
    var secure = RawEndpoint(host: "127.0.0.1", port: Int(origin.port))
    secure.isSecure = true
    var certified = secure
    certified.clientCertificateFile = "/nobody/certificate"
    certified.clientKeyFile = "/nobody/key"
    certified.certificateAuthorityFile = "/nobody/file"
    var local = RawEndpoint(host: "", port: 0, unixSocket: folder.file("nobody"))
    local.isSecure = true
    return [secure, certified, local]
  }

  @Test(.enabled(if: ChangedLibcurl.isPossible, "there is no C compiler"))
  func `an option that libcurl does not take ends the connection, and nothing is left of it`() async throws {
    let libcurl = try await ChangedLibcurl()
    let (origin, folder) = (try FixtureServer(routes: ["/": .ok("hello")]), try TemporaryFolder())
    origin.stop()
    for (number, endpoint) in Self.endpoints(origin, folder).enumerated() {
      var refused = 0
      while true {
        libcurl[.refusedSetting] = refused + 1
        let error = await Self.ending(of: endpoint, by: libcurl)
        #expect(libcurl[.handles] == 0 && libcurl[.multis] == 0, "\(number): \(refused)")
        guard error.message.hasPrefix("libcurl does not take an option: ") else { break }
        #expect(error.kind == .other, "\(number): \(refused)")
        refused += 1
      }
      #expect(refused >= 11 && refused == libcurl[.settings], "\(number): \(refused)")
    }
    withExtendedLifetime(origin) {}
  }

  @Test(.enabled(if: ChangedLibcurl.isPossible, "there is no C compiler"))
  func `the certificate is verified, its host too, and no HTTP is spoken`() async throws {
    let libcurl = try await ChangedLibcurl()
    let (origin, folder) = (try FixtureServer(routes: ["/": .ok("hello")]), try TemporaryFolder())
    origin.stop()
    let rules: [(option: CURLoption, value: Int)] = [
      (CURLOPT_CONNECT_ONLY, 1), (CURLOPT_NOSIGNAL, 1), (CURLOPT_NETRC, 0), (CURLOPT_HTTP_VERSION, 2),
      (CURLOPT_SSL_ENABLE_ALPN, 0), (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2),
      // CURLOPT_PROTOCOLS, which newer headers call outdated: HTTP and HTTPS, whose names the URL has.
      (CURLoption(rawValue: 181), 3),
    ]
    for endpoint in Self.endpoints(origin, folder) {
      libcurl[.refusedSetting] = 0
      let error = await Self.ending(of: endpoint, by: libcurl)
      #expect(error.kind != .other, "\(error)")
      for (option, value) in rules {
        #expect(libcurl.value(of: option.rawValue) == value, "\(endpoint): \(option.rawValue)")
      }
    }
    withExtendedLifetime(origin) {}
  }

  @Test(.enabled(if: ChangedLibcurl.isPossible, "there is no C compiler"))
  func `where libcurl makes no handles the connection says so, and what it made is freed`() async throws {
    let libcurl = try await ChangedLibcurl()
    let origin = try FixtureServer(routes: ["/": .ok("hello")])
    origin.stop()
    var endpoint = RawEndpoint(host: "127.0.0.1", port: Int(origin.port))
    endpoint.isSecure = true
    let faults: [ChangedLibcurl.Number] = [.refusesMulti, .refusesHandles, .refusesAdding]
    for number in faults {
      libcurl[number] = 1
      let error = await Self.ending(of: endpoint, by: libcurl)
      #expect(error.kind == .other && error.message == "libcurl could not make a connection", "\(number)")
      libcurl[number] = 0
      #expect(libcurl[.handles] == 0 && libcurl[.multis] == 0, "\(number)")
    }
    libcurl[.refusesPerforming] = 1
    let error = await Self.ending(of: endpoint, by: libcurl)
    #expect(error.kind == .other && error.message == "libcurl could not be initialised")
    #expect(libcurl[.handles] == 0 && libcurl[.multis] == 0)
    withExtendedLifetime(origin) {}
  }

  @Test func `an endpoint is named as in a URL, and as a person would`() {
    let names: [(host: String, authority: String, name: String)] = [
      ("a.test", "a.test:6379", "a.test:6379"), ("127.0.0.1", "127.0.0.1:6379", "127.0.0.1:6379"),
      ("::1", "[::1]:6379", "::1:6379"), ("[::1]", "[::1]:6379", "[::1]:6379"),
    ]
    for (host, authority, name) in names {
      let endpoint = RawEndpoint(host: host, port: 6_379)
      #expect(endpoint.authority == authority && endpoint.name == name, "\(host)")
    }
    #expect(RawEndpoint(host: "a.test", port: 1, unixSocket: "/run/x").name == "/run/x")
  }
}
