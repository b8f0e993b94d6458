import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// Who answers, and for whom, as the options of a command line decide it.
@Suite("Command: identity, pauses, secrets", .inTurn) struct IdentityTests {
  /// An origin that says which `Host` it was asked for, and what stands in the query.
  private func origin() throws -> FixtureServer {
    try FixtureServer { request, connection in
      switch request.path {
      case "/moved": try connection.send(.redirect(to: "/there"))
      case "/busy": try connection.send(.status(503, "busy", ["Retry-After": "999999999999"]))
      default: try connection.send(.ok("host \(request["Host"] ?? "")", ["Cache-Control": "max-age=600"]))
      }
    }
  }

  @Test func `another host's page is not this one's`() async throws {
    let (shell, origin) = (try Shell(), try origin())
    let url = origin.url + "/e"
    #expect(try await shell.run("-q", "-H", "Host: a.example", url).outputText == "host a.example")
    for policy in [["--offline"], ["--max-age", "5m"], ["--policy", "http"]] {
      let other = try await shell.run(["-q"] + policy + ["-H", "Host: b.example", url])
      #expect(!other.outputText.contains("a.example"), "\(policy)")
      #expect(!(try await shell.run(["-q"] + policy + [url])).outputText.contains(".example"), "\(policy)")
    }
    let own = try await shell.run("-q", "--offline", "-H", "host: A.example", url)
    #expect(own.outputText == "host a.example")
    #expect(try await shell.run("explain", "-H", "Host: c.example", url).outputText.contains("nothing"))
  }

  @Test func `a redirect that was followed is not the redirect itself`() async throws {
    let (shell, origin) = (try Shell(), try origin())
    let url = origin.url + "/moved"
    #expect(try await shell.run("-q", url).outputText.hasPrefix("host 127.0.0.1"))
    let alone = try await shell.run("-q", "-i", "--no-location", url)
    #expect(alone.status == 0 && alone.outputText.hasPrefix("HTTP/1.1 302"))
    #expect(try await shell.run("-q", "--offline", "--no-location", url).status == 4)
  }

  @Test func `what is stored under one client certificate is shown under no other`() async throws {
    let shell = try Shell()
    let site = try await SelfSignedSite(in: shell.store.folder)
    let people = try TestCertificates()
    for name in ["alice", "bob"] { try await people.makeSelfSigned(name, host: name) }
    func certificate(_ name: String) -> [String] {
      ["--cert", people.certificate(name), "--key-file", people.key(name)]
    }
    let trust = ["--cacert", site.certificate]
    #expect(try await shell.run(["-q", site.url] + trust + certificate("alice")).status == 0)
    for words in [certificate("bob") + trust, trust, certificate("alice"), certificate("alice") + ["-k"]] {
      #expect(try await shell.run(["-q", "--offline", site.url] + words).status == 4, "\(words)")
      #expect(try await shell.run(["show", site.url] + words).status == 4, "\(words)")
    }
    for verb in [["-q", "--offline"], ["show"]] {
      #expect(try await shell.run(verb + [site.url] + trust + certificate("alice")).status == 0, "\(verb)")
    }
    #expect(try await shell.run("list").outputText.contains("\tauto:"))
  }

  /// The ways that a proxy is named.
  private static let proxies = ["http_proxy", "ALL_PROXY", "-x"]

  private func run(_ shell: Shell, by way: String, of proxy: FixtureServer, _ words: String...) async throws
    -> ChildProcess.Finished
  {
    var changed = shell
    // The proxy is not passed by for hosts of this machine.
    for name in ["no_proxy", "NO_PROXY"] { changed.environment[name] = .some(nil) }
    if way != "-x" { changed.environment[way] = proxy.url }
    return try await changed.run(
      ["--retry", "0", "--connect-timeout", "1h"] + (way == "-x" ? ["-x", proxy.url] : []) + words)
  }

  @Test("what came by a proxy is found without it", arguments: proxies)
  func storedByProxy(way: String) async throws {
    let (shell, proxy) = (try Shell(), try FixtureServer { try $1.send(.ok("by the proxy")) })
    let url = "http://origin.test/x"
    #expect(try await run(shell, by: way, of: proxy, "-q", url).status == 0)
    #expect(try await shell.run("--offline", url).outputText == "by the proxy")
    #expect(try await run(shell, by: way, of: proxy, "--offline", url).outputText == "by the proxy")
    #expect(try await shell.run("list").lines.count == 1)
  }

  @Test("a download that a proxy cut off goes on with its bytes alone", arguments: proxies)
  func cutOffByProxy(way: String) async throws {
    let shell = try Shell()
    let length = 700_000
    // Each sends its own letters, whole or the rest, under the same tag.
    func server(_ letter: String, cutsOff: Bool) throws -> FixtureServer {
      let begun = Mutex(false)
      return try FixtureServer { request, connection in
        let all = Array(String(repeating: letter, count: length).utf8)
        if let range = request["Range"] {
          let start = try #require(Int(range.dropFirst("bytes=".count).dropLast()))
          return try connection.send(
            FixtureReply(
              status: 206,
              fields: ["ETag": "\"v\"", "Content-Range": "bytes \(start)-\(length - 1)/\(length)"],
              body: Array(all[start...])))
        }
        guard cutsOff,
          begun.withLock({ isBegun in
            defer { isBegun = true }
            return !isBegun
          })
        else {
          return try connection.send(.ok(all, ["ETag": "\"v\""]))
        }
        try connection.sendRaw(
          Array("HTTP/1.1 200 OK\r\nETag: \"v\"\r\nContent-Length: \(length)\r\n\r\n".utf8)
            + all.prefix(length - 100_000))
        connection.close()
      }
    }
    let (origin, proxy) = (try server("g", cutsOff: false), try server("e", cutsOff: true))
    #expect(try await run(shell, by: way, of: proxy, "-q", origin.url + "/x").status == 4)
    let direct = try await shell.run("-q", origin.url + "/x")
    #expect(direct.output == Array(String(repeating: "g", count: length).utf8))
    #expect(origin.requests().map { $0["Range"] } == [nil])
  }

  @Test("a proxy that asks for a pause silences nobody who goes past it", arguments: proxies)
  func pausedByProxy(way: String) async throws {
    let (shell, origin) = (try Shell(), try FixtureServer { try $1.send(.ok("here")) })
    let proxy = try FixtureServer { try $1.send(.status(503, "busy", ["Retry-After": "3000"])) }
    _ = try await run(shell, by: way, of: proxy, "-q", origin.url + "/x")
    let again = try await run(shell, by: way, of: proxy, origin.url + "/x")
    #expect(again.status == 4 && again.errorText.contains("paused until"), "\(again.errorText)")
    #expect(proxy.requests().count == 1)
    let direct = try await shell.run(origin.url + "/x")
    #expect(direct.status == 0 && direct.outputText == "here", "\(direct.errorText)")
  }

  @Test("who asks by a proxy and who asks directly do not wait for each other", arguments: proxies)
  func togetherByProxy(way: String) async throws {
    let shell = try Shell()
    let bothAreHere = Gate()
    let count = Mutex(0)
    let meeting: @Sendable (FixtureRequest, FixtureConnection) throws -> Void = { _, connection in
      let isLast = count.withLock { number in
        number += 1
        return number == 2
      }
      if isLast { bothAreHere.open() }
      // Were there but one exchange, it would wait for ever.
      bothAreHere.wait()
      try connection.send(.ok("x"))
    }
    let (origin, proxy) = (try FixtureServer(meeting), try FixtureServer(meeting))
    async let direct = shell.run("-q", "--retry", "0", "--connect-timeout", "1h", origin.url + "/x")
    async let proxied = run(shell, by: way, of: proxy, "-q", origin.url + "/x")
    #expect(try await [direct.status, proxied.status] == [0, 0])
    #expect(origin.requests().count == 1 && proxy.requests().count == 1)
  }

  @Test func `a pause is explained, listed and ended`() async throws {
    let (shell, origin) = (try Shell(), try origin())
    let url = origin.url + "/busy"
    let ways = [
      ["rm", url], ["rm", "--host", "127.0.0.1"], ["rm", "--pause", "127.0.0.1"], ["doctor", "--repair"],
    ]
    for (index, way) in ways.enumerated() {
      let count = origin.requests().count
      let busy = try await shell.run("-q", "--retry", "0", "--connect-timeout", "1h", url)
      #expect(busy.outputText == "busy", "\(index), \(way)")
      let paused = try await shell.run("--retry", "0", origin.url + "/\(index)")
      #expect(paused.status == 4 && paused.errorText.contains("paused until"), "\(index), \(way)")
      #expect(origin.requests().count == count + 1, "\(index), \(way)")
      #expect(try await shell.run("explain", url).outputText.contains("paused until"), "\(index), \(way)")
      let doctor = try await shell.run("doctor")
      #expect(
        doctor.status == 0 && doctor.outputText.contains("asked to be left alone, for"), "\(index), \(way)")
      let ended = try await shell.run(way)
      #expect(ended.status == 0, "\(way): \(ended.errorText)")
      #expect(!(try await shell.run("explain", url)).outputText.contains("paused until"), "\(way)")
      #expect(!(try await shell.run("doctor")).outputText.contains("left alone"), "\(way)")
      #expect(try await shell.run("-q", "--print", "none", origin.url + "/\(index)").status == 0, "\(way)")
    }
  }

  @Test func `what the command line names as secret is neither shown nor stored`() async throws {
    let (shell, origin) = (try Shell(), try origin())
    let url = origin.url + "/x?who=GEHEIM-1&page=2"
    let words = ["--secret-parameter", "Who", "--secret-field", "X-Tenant", "-H", "X-Tenant: GEHEIM-2"]
    let run = try await shell.run(["-v", "--json"] + words + [url])
    #expect(run.status == 0 && !run.outputText.contains("GEHEIM") && !run.errorText.contains("GEHEIM"))
    #expect(origin.requests().last?["X-Tenant"] == "GEHEIM-2")
    #expect(try await shell.run(["-q", "--offline"] + words + [url]).status == 0)
    #expect(try await shell.run("-q", "--offline", "--secret-parameter", "who", url).status == 4)
    let listed = try await shell.run("list")
    #expect(listed.outputText.contains("who=~") && listed.outputText.contains("\tauto:"))
    #expect(try !shell.store.filesContain("GEHEIM"))
    #expect(try await shell.run("rm", "--secret-parameter", "who", url).outputText.isEmpty)
    #expect(try await shell.run("list").outputText.isEmpty)
  }

  @Test func `a date whose zone is not GMT is no date, so that the answer is stale`() async throws {
    let shell = try Shell()
    for (zone, isFresh) in [("GMT", true), ("UTC", false), ("EST", false)] {
      let origin = try FixtureServer { _, connection in
        try connection.send(
          .ok("x", ["Date": "Thu, 01 Jan 2099 00:00:00 GMT", "Expires": "Fri, 02 Jan 2099 00:00:00 \(zone)"]))
      }
      _ = try await shell.run("-q", "--policy", "http", origin.url + "/x")
      let explained = try await shell.run("explain", "--policy", "http", origin.url + "/x")
      #expect(explained.outputText.contains("cannot be read") != isFresh, "\(zone): \(explained.outputText)")
    }
  }
}
