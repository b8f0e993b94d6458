import CacheStore
import DataService
import FixtureServer
import Foundation
import TestSupport
import Testing
import TestTurns

/// Law 5 under TLS: the row that a sound server gave stays, byte for byte, whatever stands in its place later.
@Suite("Hostile servers: TLS", .inTurn) struct HostileTLSTests {
  /// nginx behind a socket for each certificate, and the relay that chooses among them.
  private struct Site {
    let certificates: TestCertificates
    let nginx: NginxServer
    let relay: TLSRelay
    /// Sends a body that nothing but the end of the connection delimits.
    let endless: FixtureServer

    init() async throws {
      let certificates = try TestCertificates()
      let strangers = try TestCertificates()
      for authority in [certificates, strangers] { try await authority.makeAuthority() }
      try await certificates.make("good", host: "site.test")
      try await certificates.make("expired", host: "site.test", days: -1)
      try await certificates.make("wrong", host: "other.test")
      try await certificates.makeSelfSigned("self", host: "site.test")
      try await strangers.make("stranger", host: "site.test")
      try certificates.folder.write(String(repeating: "long ", count: 40_000), to: "long")
      endless = try FixtureServer { _, connection in
        try connection.sendRaw(
          "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + String(repeating: "long ", count: 40_000))
        connection.close()
      }
      func server(_ name: String, _ directives: String, _ answer: String) -> String {
        """
        server {
          listen unix:\(certificates.folder.file(name + ".socket")) ssl; \(directives)
          keepalive_timeout 0; add_header ETag '"1"'; location / { \(answer) }
        }

        """
      }
      let good = certificates.directives("good")
      let bad = ["expired", "wrong", "self"].map {
        server($0, certificates.directives($0), "return 200 evil;")
      }
      nginx = try NginxServer(
        http: server("good", good, "return 200 good;") + bad.joined()
          + server("stranger", strangers.directives("stranger"), "return 200 evil;")
          + server("downgrade", good, "return 302 http://127.0.0.1:$PORT/;")
          + server("long", good, "root \(certificates.folder.path); rewrite ^ /long break;")
          + server(
            "endless", good, "chunked_transfer_encoding off; proxy_pass http://127.0.0.1:\(endless.port);"))
      self.certificates = certificates
      relay = try TLSRelay(.server(certificates.folder.file("good.socket")))
      // Its port waits for it from the start; its sockets are there once it answers.
      let port = TransportRequest(url: try #require(URL(string: nginx.url)), limits: .unhurried)
      _ = try await CurlTransport().response(to: port)
    }

    func socket(_ name: String) -> String { certificates.folder.file(name + ".socket") }
    var url: URL { get throws { try #require(URL(string: "https://site.test:\(relay.port)/item")) } }
  }

  @Test
  func `a body that ends with the connection is whole where the closing alert has come, and only there`()
    async throws
  {
    let site = try await Site()
    let fixture = try ServiceFixture()
    let url = try site.url
    func load() async -> [DataService.Delivery<Data>] {
      await fixture.deliveries(url) { request in
        request.connection.certificateAuthorityFile = site.certificates.authority
        request.connection.resolutions = [
          .init(host: "site.test", port: Int(site.relay.port), address: "127.0.0.1")
        ]
      }
    }
    let endless = site.socket("endless")
    site.relay.lead(.server(endless))
    let whole = try #require(await load().last?.fresh)
    #expect(whole.value.count == 200_000 && !whole.fields.contains("Content-Length"))
    let before = try HostileServiceTests.bytes(of: fixture.store)
    for count in [20_000, 100_000, 200_000] {
      site.relay.lead(.cut(endless, after: count))
      let deliveries = await load()
      #expect(deliveries.last?.error?.kind == .truncated, "\(count)")
      #expect(deliveries.first?.stored?.value == whole.value, "\(count)")
    }
    #expect(try HostileServiceTests.bytes(of: fixture.store) == before)
    site.relay.lead(.server(endless))
    #expect(await load().last?.fresh?.value == whole.value)
    await fixture.service.close()
    withExtendedLifetime(site) {}
  }

  @Test func `no fault of a certificate, a handshake or a redirect touches the stored row`() async throws {
    let site = try await Site()
    let fixture = try ServiceFixture()
    let url = try site.url
    func load() async -> [String] {
      await fixture.outline(url) { request in
        request.connection.certificateAuthorityFile = site.certificates.authority
        request.connection.resolutions = [
          .init(host: "site.test", port: Int(site.relay.port), address: "127.0.0.1")
        ]
      }
    }
    let first = await load()
    #expect(first == ["fresh(good, new)"])
    let before = try HostileServiceTests.bytes(of: fixture.store)
    let good = site.socket("good")
    let faults: [(name: String, way: TLSRelay.Way, kind: String)] = [
      ("expired", .server(site.socket("expired")), "tls(expired)"),
      ("of another host", .server(site.socket("wrong")), "tls(wrongHost)"),
      ("self-signed", .server(site.socket("self")), "tls(selfSigned)"),
      ("of an authority that is not trusted", .server(site.socket("stranger")), "tls(untrusted)"),
      ("a redirect down to http", .server(site.socket("downgrade")), "protocol"),
      ("close after the client's first words", .cut(good, after: 0), "tls(handshake)"),
      ("reset after the client's first words", .cut(good, after: 0, isReset: true), "tls(handshake)"),
      ("close within the first record's head", .cut(good, after: 3), "tls(handshake)"),
      ("close within the server's first words", .cut(good, after: 60), "tls(handshake)"),
      ("reset within the server's first words", .cut(good, after: 60, isReset: true), "tls(handshake)"),
      ("close within the certificate", .cut(good, after: 500), "tls(handshake)"),
      (
        "an answer in plain text", .plain("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"),
        "tls(handshake)"
      ),
      ("close within a long body", .cut(site.socket("long"), after: 20_000), "truncated"),
    ]
    for fault in faults {
      site.relay.lead(fault.way)
      let outline = await load()
      #expect(outline == ["stored(good)", "failure(\(fault.kind), last good)"], "\(fault.name)")
      #expect(try HostileServiceTests.bytes(of: fixture.store) == before, "\(fault.name)")
    }
    // A reset may overtake the head.
    site.relay.lead(.cut(site.socket("long"), after: 20_000, isReset: true))
    let reset = await load()
    #expect(
      ["truncated", "disconnected"].map { ["stored(good)", "failure(\($0), last good)"] }.contains(reset))
    #expect(try HostileServiceTests.bytes(of: fixture.store) == before)
    // And the way back: what failed were the servers, not the loads.
    site.relay.lead(.server(good))
    let last = await load()
    #expect(last == ["stored(good)", "fresh(good, unchanged)"])
    await fixture.service.close()
    withExtendedLifetime(site) {}
  }
}
