import DataService
import FixtureServer
import Foundation
import TestSupport
import Testing
import TestTurns

@Suite("libcurl transport: proxies, sockets, resolutions", .inTurn) struct CurlRouteTests {
  private func failure(_ request: TransportRequest) async -> DataServiceError.Kind? {
    do throws(DataServiceError) {
      _ = try await CurlTransport().response(to: request)
      return nil
    } catch {
      return error.kind
    }
  }

  private func request(_ url: String, _ configure: (inout ConnectionOptions) -> Void) throws
    -> TransportRequest
  {
    var request = TransportRequest(url: try #require(URL(string: url)), limits: .unhurried)
    configure(&request.connection)
    return request
  }

  @Test func `a proxy given is asked for the whole URL`() async throws {
    let proxy = try FixtureServer { request, connection in
      try connection.send(.ok("proxied \(request.target)"))
    }
    let response = try await CurlTransport().response(
      to: request("http://origin.test/a?b") { $0.proxy = "http://127.0.0.1:\(proxy.port)" })
    #expect(try await response.body.text() == "proxied http://origin.test/a?b")
    #expect(proxy.requests().first?["Host"] == "origin.test")
  }

  @Test func `a proxy's credentials go to the proxy alone`() async throws {
    let proxy = try FixtureServer { _, connection in try connection.send(.ok("")) }
    _ = try await CurlTransport().response(
      to: request("http://origin.test/") { $0.proxy = "http://me:secret@127.0.0.1:\(proxy.port)" })
    let sent = try #require(proxy.requests().first)
    #expect(sent["Proxy-Authorization"] == "Basic bWU6c2VjcmV0")
    #expect(sent["Authorization"] == nil)
  }

  @Test func `a proxy that will not connect, is not there, or has no address is the proxy's failure`()
    async throws
  {
    let refusing = try FixtureServer { _, connection in try connection.send(.status(407)) }
    let gone = try FixtureServer(routes: ["/": .ok("")])
    gone.stop()
    #expect(
      await failure(try request("https://origin.test/") { $0.proxy = "http://127.0.0.1:\(refusing.port)" })
        == .proxy)
    #expect(refusing.requests().first?.method == "CONNECT")
    #expect(
      await failure(try request("http://origin.test/") { $0.proxy = "http://127.0.0.1:\(gone.port)" })
        == .proxy)
    // A name that no resolver knows (RFC 6761).
    #expect(await failure(try request("http://origin.test/") { $0.proxy = "http://no.invalid:1" }) == .proxy)
  }

  @Test func `a host that libcurl spells in another way refuses the connection itself`() async throws {
    let gone = try FixtureServer(routes: ["/": .ok("")])
    gone.stop()
    for host in ["127.1", "2130706433", "0177.0.0.1", "%31%32%37.0.0.1"] {
      let kind = await failure(try request("http://\(host):\(gone.port)/") { $0.proxy = "" })
      #expect(kind == .refused, "\(host)")
    }
    withExtendedLifetime(gone) {}
  }

  @Test func `a resolution sends a host to an address, and nobody else's exchanges`() async throws {
    let here = try FixtureServer { request, connection in
      try connection.send(.ok("here \(request["Host"] ?? "")"))
    }
    let there = try FixtureServer { _, connection in try connection.send(.ok("there")) }
    let transport = CurlTransport()
    let url = "http://localhost:\(here.port)/"
    let plain = try request(url) { _ in }
    let resolved = try request(url) { options in
      options.resolutions = [.init(host: "localhost", port: Int(here.port), address: "127.0.0.2")]
    }
    #expect(try await transport.response(to: plain).body.text() == "here localhost:\(here.port)")
    // Nobody listens on 127.0.0.2: an answer would have come over the other exchange's connection.
    await #expect(throws: DataServiceError.self) { _ = try await transport.response(to: resolved) }
    let named = try request("http://origin.test:\(there.port)/") { options in
      options.resolutions = [.init(host: "origin.test", port: Int(there.port), address: "127.0.0.1")]
    }
    #expect(try await transport.response(to: named).body.text() == "there")
    #expect(there.requests().first?["Host"] == "origin.test:\(there.port)")
    let unnamed = try request("http://origin.test:\(there.port)/") { _ in }
    await #expect(throws: DataServiceError.self) { _ = try await transport.response(to: unnamed) }
  }

  private static let hasIPv6 =
    (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8))?.contains(" lo") == true

  @Test(.enabled(if: hasIPv6, "this machine has no IPv6 loopback"))
  func `IPv4 and IPv6 are reached, the address written in the URL or given for a host`() async throws {
    let nginx = try NginxServer(
      server: "location / { return 200 four; }",
      http: "server { listen [::1]:$PORT; location / { return 200 six; } }")
    let transport = CurlTransport()
    func text(_ host: String, _ configure: (inout ConnectionOptions) -> Void = { _ in }) async throws
      -> String
    {
      let request = try request("http://\(host):\(nginx.port)/", configure)
      return try await transport.response(to: request).body.text()
    }
    // Its first port waits for it from the start; the second is there once it answers.
    #expect(try await text("127.0.0.1") == "four")
    #expect(try await text("[::1]") == "six")
    for (address, answer) in [("127.0.0.1", "four"), ("::1", "six"), ("[::1]", "six")] {
      let given = ConnectionOptions.Resolution(host: "origin.test", port: Int(nginx.port), address: address)
      #expect(try await text("origin.test") { $0.resolutions = [given] } == answer, "\(address)")
    }
    withExtendedLifetime(nginx) {}
  }

  @Test func `a unix socket takes the place of the host`() async throws {
    let folder = try TemporaryFolder()
    let origin = try FixtureServer(unixSocket: folder.file("s")) { request, connection in
      try connection.send(.ok("\(request["Host"] ?? "") \(request.target)"))
    }
    let response = try await CurlTransport().response(
      to: request("http://origin.test/a") { $0.unixSocket = folder.file("s") })
    #expect(try await response.body.text() == "origin.test /a")
    #expect(origin.requests().count == 1)
    let missing = try request("http://origin.test/a") { $0.unixSocket = folder.file("missing") }
    #expect(await failure(missing) == .unreachable)
  }

  @Test func `a connection option with a NUL in it is refused`() async throws {
    #expect(await failure(try request("http://origin.test/") { $0.proxy = "http://a\0b" }) == .invalidRequest)
  }

  @Test func `proxies of the environment are used, no_proxy is heeded`() async throws {
    let proxy = try FixtureServer { request, connection in
      try connection.send(.ok("proxied \(request.target)"))
    }
    let nobody = try FixtureServer(routes: ["/x": .ok("nobody")])
    nobody.stop()
    let url = nobody.url("/x").absoluteString
    let store = try TemporaryFolder()
    let program = try BuiltProduct.cachefetch()
    func run(
      _ environment: [String: String?], _ options: [String] = []
    ) async throws -> ChildProcess.Finished {
      try await ChildProcess.run(
        program,
        [
          "--store", store.file("s"), "--policy", "fresh-only", "--retry", "0", "--json",
          "--connect-timeout", "1h",
        ] + options + [url],
        environment: environment.merging(["CACHEFETCH_TEST_TIMEOUTS": "1"]) { $1 })
    }
    let proxied = try await run(["http_proxy": "http://127.0.0.1:\(proxy.port)", "no_proxy": nil])
    #expect(proxied.outputText.contains("proxied \(url)"), "\(proxied.outputText)\(proxied.errorText)")
    let direct = try await run(["http_proxy": "http://127.0.0.1:\(proxy.port)", "no_proxy": "127.0.0.1"])
    #expect(direct.outputText.contains("\"refused\""), "\(direct.outputText)\(direct.errorText)")
    // As with curl, a proxy that is given is passed by as well.
    let given = ["--proxy", "http://127.0.0.1:\(proxy.port)"]
    let used = try await run(["no_proxy": nil, "NO_PROXY": nil], given)
    #expect(used.outputText.contains("proxied \(url)"), "\(used.outputText)\(used.errorText)")
    let passed = try await run(["no_proxy": "127.0.0.1"], given)
    #expect(passed.outputText.contains("\"refused\""), "\(passed.outputText)\(passed.errorText)")
    withExtendedLifetime(nobody) {}
  }
}
