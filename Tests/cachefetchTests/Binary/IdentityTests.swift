import FixtureServer
import PlatformFoundation
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
    let (shell, origin) = (try Shell(), try origin())
    for name in ["alice", "bob"] { try shell.store.folder.write("certificate of \(name)", to: "\(name).pem") }
    let url = origin.url + "/private"
    #expect(try await shell.run("-q", "--print", "none", "--cert", "alice.pem", url).status == 0)
    for words in [["--cert", "bob.pem"], [], ["--cacert", "alice.pem"], ["-k"], ["-x", origin.url]] {
      #expect(try await shell.run(["-q", "--offline"] + words + [url]).status == 4, "\(words)")
      #expect(try await shell.run(["show"] + words + [url]).status == 4, "\(words)")
    }
    #expect(try await shell.run("-q", "--offline", "--cert", "alice.pem", url).status == 0)
    #expect(try await shell.run("show", "--cert", "alice.pem", url).status == 0)
    #expect(try await shell.run("list").outputText.contains("[auto:"))
  }

  @Test func `a pause is explained, listed and ended`() async throws {
    let (shell, origin) = (try Shell(), try origin())
    let url = origin.url + "/busy"
    let ways = [["rm", url], ["rm", "--host", "127.0.0.1"], ["doctor", "--repair"]]
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
    #expect(listed.outputText.contains("who=~") && listed.outputText.contains("[auto:"))
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
