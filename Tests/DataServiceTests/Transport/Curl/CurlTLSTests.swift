import CacheStore
import DataService
import FixtureServer
import Foundation
import TestSupport
import Testing
import TestTurns

/// TLS and HTTP/2 against nginx. Where nginx or openssl is missing these fail; scripts/setup gets nginx.
@Suite("libcurl transport: TLS and HTTP/2", .inTurn) struct CurlTLSTests {
  /// nginx with a server for each kind of certificate, told apart by name.
  private struct Site {
    let certificates: TestCertificates
    let nginx: NginxServer

    init() async throws {
      let certificates = try TestCertificates()
      try await certificates.makeAuthority()
      try await certificates.make("good", host: "good.test")
      try await certificates.make("expired", host: "expired.test", days: -1)
      try await certificates.makeSelfSigned("self", host: "self.test")
      try await certificates.make("client", host: "client.test")
      func server(_ host: String, _ name: String, _ more: String = "") -> String {
        """
        server {
          listen 127.0.0.1:$PORT ssl http2; server_name \(host); \(certificates.directives(name)) \(more)
          add_header X-Connection $connection; location / { return 200 "hello from \(host)"; }
        }

        """
      }
      self.certificates = certificates
      nginx = try NginxServer(
        server: "\(certificates.directives("good")) server_name unused.test;",
        http: server("good.test", "good") + server("expired.test", "expired") + server("self.test", "self")
          + server("wrong.test", "good")
          + server(
            "client.test", "client",
            "ssl_client_certificate \(certificates.authority); ssl_verify_client on;"),
        listen: "ssl http2")
    }

    func request(_ host: String, _ configure: (inout ConnectionOptions) -> Void = { _ in }) throws
      -> TransportRequest
    {
      var request = TransportRequest(
        url: try #require(URL(string: "https://\(host):\(nginx.port)/")), limits: .unhurried)
      request.connection.certificateAuthorityFile = certificates.authority
      request.connection.resolutions = [.init(host: host, port: Int(nginx.port), address: "127.0.0.1")]
      configure(&request.connection)
      return request
    }
  }

  private func failure(_ transport: CurlTransport, _ request: TransportRequest) async -> DataServiceError? {
    do throws(DataServiceError) {
      let response = try await transport.response(to: request)
      Issue.record("answered \(response.status)")
      return nil
    } catch {
      return error
    }
  }

  @Test func `HTTP/2 is spoken where TLS offers it, and its exchanges share a connection`() async throws {
    let site = try await Site()
    let transport = CurlTransport()
    let request = try site.request("good.test")
    let first = try await transport.response(to: request)
    #expect(first.version == "2" && first.status == 200 && first.reason == "")
    #expect(try await first.body.text() == "hello from good.test")
    let connections = try await withThrowingTaskGroup(of: String?.self) { group in
      for _ in 0..<60 {
        group.addTask {
          let response = try await transport.response(to: request)
          guard try await response.body.text() == "hello from good.test" else { return nil }
          return response.fields["X-Connection"]
        }
      }
      return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
    }
    #expect(connections == [first.fields["X-Connection"]])
  }

  @Test func `HTTP/1.1 is spoken where only that is wanted, even beside an HTTP/2 connection`() async throws {
    let site = try await Site()
    let transport = CurlTransport()
    for (isOld, version) in [(false, "2"), (true, "1.1"), (false, "2"), (true, "1.1")] {
      let response = try await transport.response(
        to: try site.request("good.test") { $0.isHTTP11Only = isOld })
      #expect(try await response.body.text() == "hello from good.test", "\(isOld)")
      #expect(response.version == version, "\(isOld)")
    }
  }

  @Test func `each fault of a certificate has its own kind`() async throws {
    let site = try await Site()
    let transport = CurlTransport()
    let faults: [(String, String, (inout ConnectionOptions) -> Void)] = [
      ("expired.test", "expired", { _ in }), ("self.test", "selfSigned", { _ in }),
      ("wrong.test", "wrongHost", { _ in }),
      ("good.test", "untrusted", { $0.certificateAuthorityFile = nil }),
      ("good.test", "authorities", { $0.certificateAuthorityFile = "/nonexistent/ca.pem" }),
      ("good.test", "clientCertificate", { $0.clientCertificateFile = "/nonexistent/client.pem" }),
    ]
    for (host, reason, configure) in faults {
      let error = await failure(transport, try site.request(host, configure))
      #expect(error?.kind == .tls(reason), "\(host): \(String(describing: error))")
    }
  }

  @Test func `without verification every certificate is accepted, and its connection serves nobody else`()
    async throws
  {
    let site = try await Site()
    let transport = CurlTransport()
    for host in ["expired.test", "self.test", "wrong.test"] {
      let insecure = try site.request(host) { $0.isInsecure = true }
      #expect(try await transport.response(to: insecure).body.text() == "hello from \(host)", "\(host)")
      #expect(await failure(transport, try site.request(host)) != nil, "\(host)")
    }
  }

  @Test func `a client certificate is shown where one is given`() async throws {
    let site = try await Site()
    let transport = CurlTransport()
    let without = try await transport.response(to: try site.request("client.test"))
    #expect(without.status == 400)
    let with = try await transport.response(
      to: try site.request("client.test") { options in
        options.clientCertificateFile = site.certificates.certificate("client")
        options.clientKeyFile = site.certificates.key("client")
      })
    #expect(with.status == 200)
  }

  @Test func `a server that does not speak TLS, and one that hangs up, fail the handshake`() async throws {
    let plain = try SilentListener()
    plain.hangUpOnEveryone(after: "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    let hangsUp = try SilentListener()
    hangsUp.hangUpOnEveryone()
    for port in [plain.port, hangsUp.port] {
      let url = try #require(URL(string: "https://127.0.0.1:\(port)/"))
      #expect(
        await failure(CurlTransport(), TransportRequest(url: url, limits: .unhurried))?.kind
          == .tls("handshake"), "\(port)")
    }
  }

  @Test func `a bad certificate changes nothing in the store`() async throws {
    let site = try await Site()
    let fixture = try ServiceFixture()
    let request = try site.request("expired.test")
    func load(insecure: Bool) async -> [String] {
      await fixture.outline(request.url) { load in
        load.connection = request.connection
        load.connection.isInsecure = insecure
        load.key = nil
      }
    }
    #expect(await load(insecure: true) == ["fresh(hello from expired.test, new)"])
    // What an unverified server said is never shown to a verified load.
    #expect(await load(insecure: false) == ["failure(tls(expired))"])
    await fixture.service.close()
  }
}
