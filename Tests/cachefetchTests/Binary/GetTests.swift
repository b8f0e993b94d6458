import FixtureServer
import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("Command: get", .inTurn) struct GetTests {
  @Test func `the first run prints the fresh answer, the second the stored one and then the fresh one`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one\n", ["ETag": "\"1\""]))
    let first = try await shell.run(origin.url)
    #expect(first.outputText == "one\n" && first.status == 0 && first.errors.isEmpty)
    origin.answer(.ok("two\n", ["ETag": "\"2\""]))
    let second = try await shell.run(origin.url)
    #expect(second.outputText == "one\ntwo\n" && second.status == 0 && second.errors.isEmpty)
    let third = try await shell.run("--offline", origin.url)
    #expect(third.outputText == "two\n" && third.status == 0)
  }

  @Test func `law 1: the stored answer is on standard output while the origin still holds its own back`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let gate = origin.hold()
    origin.answer(.ok("two"))
    let child = try shell.start(origin.url)
    await child.output.waits(forBytes: 3)
    #expect(child.output.text == "one")
    gate.open()
    let finished = await child.finished()
    #expect(finished.outputText == "onetwo" && finished.status == 0)
  }

  @Test func `with the origin stopped the stored answer is printed, said to be that, and the status is 3`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    origin.server.stop()
    let run = try await shell.run("--retry", "0", origin.url)
    #expect(run.outputText == "one" && run.status == 3)
    #expect(run.errorText.hasPrefix("cachefetch: \(origin.url): "))
    #expect(run.errorText.split(separator: "\n").count == 1)
    let quiet = try await shell.run("-q", "--retry", "0", origin.url)
    #expect(quiet.outputText == "one" && quiet.errors.isEmpty && quiet.status == 3)
  }

  @Test func `offline nothing is asked of the origin, and with nothing stored the status is 4`() async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let missing = try await shell.run("--offline", origin.url)
    #expect(missing.status == 4 && missing.output.isEmpty && !missing.errors.isEmpty)
    #expect(origin.server.acceptedConnections == 0)
  }

  @Test func `a 404 after a stored 200 is a fresh answer and leaves the row alone`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    origin.answer(.status(404, "gone"))
    let plain = try await shell.run(origin.url)
    #expect(plain.outputText == "onegone" && plain.status == 0)
    let failing = try await shell.run("-f", origin.url)
    #expect(failing.outputText == "one" && failing.status == 22)
    #expect(try await shell.run("--offline", origin.url).outputText == "one")
  }

  @Test func `a 503 is a failure where a row is stored and an answer where none is`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.status(503, "busy"))
    let alone = try await shell.run("--retry", "0", origin.url)
    #expect(alone.outputText == "busy" && alone.status == 0)
    #expect(try await shell.run("--retry", "0", "-f", origin.url).status == 22)
    origin.answer(.ok("one"))
    _ = try await shell.run(origin.url)
    origin.answer(.status(503, "busy"))
    let stored = try await shell.run("--retry", "0", origin.url)
    #expect(stored.outputText == "one" && stored.status == 3)
  }

  @Test func `fresh-only prints no stored answer when the network is down, and its status is 4`() async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    origin.server.stop()
    let run = try await shell.run("--policy", "fresh-only", "--retry", "0", origin.url)
    #expect(run.output.isEmpty && run.status == 4)
  }

  @Test func `--max-age asks the origin only where the stored answer is older`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    origin.server.forgetRequests()
    let young = try await shell.run("--max-age", "1h", origin.url)
    #expect(young.outputText == "one" && young.status == 0 && origin.server.requests().isEmpty)
    origin.server.stop()
    let old = try await shell.run("--max-age", "0s", "--retry", "0", origin.url)
    #expect(old.outputText == "one" && old.status == 3)
  }

  @Test func `--deadline falls back on the stored answer when the fresh one is late`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let gate = origin.hold()
    let late = try await shell.run("--deadline", "50ms", origin.url)
    #expect(late.outputText == "one" && late.status == 3)
    gate.open()
    let inTime = try await shell.run("--deadline", "20s", origin.url)
    #expect(inTime.outputText == "one" && inTime.status == 0)
  }

  @Test func `several URLs come to the worst of their statuses, stored bodies in the order of the arguments`()
    async throws
  {
    let shell = try Shell()
    let up = try ChangingOrigin(.ok("up\n"))
    let down = try ChangingOrigin(.ok("down\n"))
    _ = try await shell.run(down.url, up.url)
    let gate = up.hold()
    let dead = try ChangingOrigin()
    dead.server.stop()
    down.server.stop()
    let child = try shell.start("--retry", "0", down.url, up.url, dead.url)
    await child.output.waits(forBytes: 8)
    #expect(child.output.text == "down\nup\n")
    gate.open()
    let finished = await child.finished()
    #expect(finished.outputText == "down\nup\n" && finished.status == 4)
    #expect(try await shell.run("--retry", "0", down.url, up.url).status == 3)
  }

  @Test(arguments: [1, 2, 3])
  func `--parallel limits how many loads are under way`(limit: Int) async throws {
    let shell = try Shell()
    let paths = (0..<5).map { "/\($0)" }
    let gates = Dictionary(uniqueKeysWithValues: paths.map { ($0, Gate()) })
    let origin = try FixtureServer { request, connection in
      gates[request.path]?.wait()
      try connection.send(.ok(request.path + "\n"))
    }
    let child = try ChildProcess(
      BuiltProduct.cachefetch(), ["--parallel", "\(limit)"] + paths.map { origin.url + $0 },
      environment: shell.environment)
    let (witness, other) = (try Shell(), try ChangingOrigin(.ok("witness")))
    for (answered, path) in paths.enumerated() {
      await origin.waitForRequests(min(limit + answered, paths.count))
      // Whatever else is under way has time to be asked for while another command does all it does.
      #expect(try await witness.run("--policy", "fresh-only", other.url).outputText == "witness")
      #expect(
        Set(origin.requests().map(\.path)) == Set(paths.prefix(limit + answered)),
        "\(answered) of them are answered")
      gates[path]?.open()
      await child.output.waits(for: path + "\n")
    }
    let finished = await child.finished()
    #expect(finished.outputText == paths.map { $0 + "\n" }.joined() && finished.status == 0)
  }

  @Test func `without --parallel all are under way at once, as many as one host is asked for`() async throws {
    let shell = try Shell()
    let allAreHere = Gate()
    let asked = Mutex(0)
    let origin = try FixtureServer { request, connection in
      let number = asked.withLock { count in
        count += 1
        return count
      }
      if number == 6 { allAreHere.open() }
      allAreHere.wait()
      try connection.send(.ok(request.path + "\n"))
    }
    let run = try await shell.run((0..<6).map { origin.url + "/\($0)" })
    #expect(Set(run.lines) == Set((0..<6).map { "/\($0)" }) && run.status == 0)
  }

  @Test func `a binary body comes out as it went in`() async throws {
    let shell = try Shell()
    let bytes = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let origin = try FixtureServer { _, connection in try connection.send(.ok(bytes)) }
    #expect(try await shell.run(origin.url + "/").output == bytes)
    #expect(try await shell.run("--offline", origin.url + "/").output == bytes)
    #expect(try await shell.run("show", origin.url + "/").output == bytes)
  }

  @Test func `a body of many chunks comes out whole and in bounded pieces`() async throws {
    let shell = try Shell()
    let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 >> 8 &+ $0) }
    let origin = try FixtureServer { _, connection in try connection.send(.ok(bytes)) }
    #expect(try await shell.run(origin.url + "/").output == bytes)
    #expect(try await shell.run("--offline", origin.url + "/").output == bytes)
  }

  @Test(
    "What --print prints",
    arguments: [
      ("both", "onetwo", "one", "one"), ("stored", "one", "one", "one"), ("fresh", "two", "one", ""),
      ("last", "two", "one", "one"), ("changed", "onetwo", "one", "one"), ("none", "", "", ""),
    ])
  func prints(mode: String, changed: String, unchanged: String, down: String) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let same = try await shell.run("--print", mode, origin.url)
    #expect(same.outputText == unchanged && same.status == 0)
    origin.answer(.ok("two"))
    let other = try await shell.run("--print", mode, origin.url)
    #expect(other.outputText == changed && other.status == 0)
    origin.answer(.ok("one"))
    _ = try await shell.run(origin.url)
    origin.server.stop()
    let failed = try await shell.run("--print", mode, "--retry", "0", origin.url)
    #expect(failed.outputText == down && failed.status == 3)
  }

  @Test func `a redirect that is delivered itself is stored under http alone, and nothing stands in for it`()
    async throws
  {
    let shell = try Shell()
    let origin = try FixtureServer(routes: [
      "/r": .redirect(to: "/t", status: 301, ["Cache-Control": "max-age=600"]), "/t": .ok("target"),
    ])
    let url = origin.url + "/r"
    for policy in [[], ["--policy", "fresh-only"]] {
      let run = try await shell.run(["--no-location", "--json"] + policy + [url])
      #expect(run.outputText.contains("\"status\":301"), "\(run.outputText)")
      #expect(run.outputText.contains("\"kept\":false,\"kept_reason\":\"status\""), "\(run.outputText)")
    }
    // What was reached through it is stored, and is no answer to who wants the redirect itself.
    #expect(try await shell.run(url).outputText == "target")
    let alone = try await shell.run("--no-location", "-i", url)
    #expect(alone.outputText.hasPrefix("HTTP/1.1 301 ") && !alone.outputText.contains("target"))
    #expect(try await shell.run("--no-location", "--offline", url).status == 4)
    _ = try await shell.run("--no-location", "--policy", "http", url)
    origin.forgetRequests()
    let again = try await shell.run("--no-location", "-i", "--policy", "http", url)
    #expect(again.outputText.hasPrefix("HTTP/1.1 301 ") && origin.requests().isEmpty)
    // Nor is it one to who wants its target.
    #expect(try await shell.run("--offline", url).outputText == "target")
  }

  @Test func `no body is printed twice, be it a 304 or the same bytes once more`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    #expect(try await shell.run(origin.url).outputText == "one")
    origin.answer(.ok("one"))
    #expect(try await shell.run(origin.url).outputText == "one")
    let include = try await shell.run("-i", origin.url)
    #expect(
      include.outputText.split(separator: "HTTP/1.1").count == 1
        && include.outputText.hasSuffix("\r\n\r\none"))
    // A head is no body: that of the stored response and that of the fresh one differ.
    #expect(try await shell.run("-I", origin.url).outputText.split(separator: "HTTP/1.1").count == 2)
  }

  @Test func `a head begins a line, and bodies alone are exact`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    origin.answer(.ok("two\n"))
    let heads = try await shell.run("-i", origin.url, origin.url + "?a", origin.url + "?b")
    for line in heads.outputText.split(separator: "\n") where line.contains("HTTP/1.1") {
      #expect(line.hasPrefix("HTTP/1.1"))
    }
    #expect(heads.outputText.contains("\r\n\r\none\nHTTP/1.1"))
  }

  @Test func `what could never print anything is refused, what does not says so`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one", ["Cache-Control": "max-age=600"]))
    for words in [
      ["--offline", "--print", "fresh"], ["--policy", "stored-only", "--print", "fresh"],
      ["--background", "--print", "fresh"], ["--policy", "fresh-only", "--print", "stored"],
      ["--print", "none", "-o", "out"], ["-f", "--fail-with-body"],
    ] {
      let run = try await shell.run(words + [origin.url])
      #expect(run.status == 64 && run.output.isEmpty && run.errorText.contains("; "), "\(words)")
    }
    #expect(origin.server.requests().isEmpty)
    let miss = try await shell.run("--print", "stored", origin.url)
    #expect(miss.status == 0 && miss.output.isEmpty)
    #expect(
      miss.errorText.hasSuffix("no stored response was delivered, so that --print stored printed nothing\n"))
    for words in [["--max-age", "1h"], ["--policy", "http"]] {
      let hit = try await shell.run(words + ["--print", "fresh", origin.url])
      #expect(hit.status == 0 && hit.output.isEmpty)
      #expect(
        hit.errorText.hasSuffix("the stored response was enough, so that --print fresh printed nothing\n"))
    }
    #expect(try await shell.run("--print", "none", origin.url).errors.isEmpty)
  }

  @Test func `-f and --fail-with-body say a line and end with 22`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.status(404, "gone"))
    let fail = try await shell.run("-f", origin.url)
    #expect(fail.status == 22 && fail.output.isEmpty)
    #expect(fail.errorText == "cachefetch: \(origin.url): answered 404 Not Found; its body is not printed\n")
    let body = try await shell.run("--fail-with-body", origin.url)
    #expect(body.status == 22 && body.outputText == "gone")
    #expect(body.errorText == "cachefetch: \(origin.url): answered 404 Not Found\n")
    let quiet = try await shell.run("-fq", origin.url)
    #expect(quiet.status == 22 && quiet.errors.isEmpty)
    origin.answer(.ok("one"))
    #expect(try await shell.run("-f", origin.url).errors.isEmpty)
  }

  @Test func `under http a stored answer that stands in for the origin's says so and ends with 3`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one", ["Cache-Control": "max-age=0"]))
    _ = try await shell.run(origin.url)
    origin.server.stop()
    let run = try await shell.run("--policy", "http", "--retry", "0", origin.url)
    #expect(run.outputText == "one" && run.status == 3)
    #expect(run.errorText.hasPrefix("cachefetch: \(origin.url): "))
  }

  @Test func `-w writes its line once for each URL, when the load is over`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one", ["Content-Type": "text/plain"]))
    let format = "\n%{http_code} %{size_download} %{content_type} %{exitcode} %{delivery} %{url_effective}\n"
    let first = try await shell.run("-w", format, origin.url)
    #expect(first.outputText == "one\n200 3 text/plain 0 fresh \(origin.url)\n")
    let offline = try await shell.run("--offline", "-w", format, origin.url)
    #expect(offline.outputText == "one\n200 0 text/plain 0 stored \(origin.url)\n")
    let several = try await shell.run("-w", "%{urlnum}%{stderr}%{http_code},", origin.url, origin.url + "?")
    #expect(several.errorText == "200,200," && several.outputText.filter { "01".contains($0) }.count == 2)
    try shell.store.folder.write("%{exitcode}\n%{errormsg}\\n\n", to: "format")
    let file = try await shell.run("--offline", "-w", "@format", origin.url + "/none")
    #expect(file.outputText == "4nothing is stored for \(origin.url)/none\n" && file.status == 4)
    for name in ["time_connect", "time_appconnect", "nonsense"] {
      let unknown = try await shell.run("-w", "%{\(name)}", origin.url)
      #expect(unknown.status == 64 && unknown.errorText.contains("time_total"))
    }
    let quiet = try await shell.run("-q", "--print", "none", "-w", "%{http_code}", origin.url)
    #expect(quiet.outputText == "200")
  }

  @Test func `-w counts the redirects that were followed, and writes all it has as JSON`() async throws {
    struct Written: Decodable, Equatable {
      var http_code, size_download, num_redirects, exitcode, urlnum: Int
      var content_type, errormsg: String?
      var url, url_effective, delivery: String
      var time_total: Double
    }
    func written(_ run: ChildProcess.Finished) throws -> Written {
      try JSONDecoder().decode(Written.self, from: Data(run.outputText.utf8))
    }
    let shell = try Shell()
    let origin = try FixtureServer(routes: [
      "/a": .redirect(to: "/b"), "/b": .redirect(to: "/c"),
      "/c": .ok("three", ["Content-Type": "text/plain"]),
    ])
    let followed = try await shell.run("-w", " %{num_redirects}", origin.url + "/a")
    #expect(followed.outputText == "three 2")
    // Who is given what is stored has followed none.
    let stored = try await shell.run("--offline", "-w", " %{num_redirects}", origin.url + "/a")
    #expect(stored.outputText == "three 0")
    let json = try await shell.run("-w", "%{json}", "--print", "none", origin.url + "/a")
    let fresh = try written(json)
    #expect(
      fresh
        == Written(
          http_code: 200, size_download: 5, num_redirects: 2, exitcode: 0, urlnum: 0,
          content_type: "text/plain", errormsg: nil, url: origin.url + "/a",
          url_effective: origin.url + "/c", delivery: "fresh", time_total: fresh.time_total))
    #expect(fresh.time_total > 0)
    let missing = try written(try await shell.run("-q", "-w", "%{json}", "--offline", origin.url + "/none"))
    #expect(missing.http_code == 0 && missing.exitcode == 4 && missing.content_type == nil)
    #expect(missing.errormsg?.hasPrefix("nothing is stored") == true && missing.delivery == "failure")
  }

  @Test func `-i prints the head as received, a stored one with Age and Cache-Status`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one", ["X-A": "é", "ETag": "\"1\""]))
    let fresh = try await shell.run("-i", origin.url)
    #expect(fresh.outputText == "HTTP/1.1 200 OK\r\nX-A: é\r\nETag: \"1\"\r\nContent-Length: 3\r\n\r\none")
    let stored = try await shell.run("-i", "--offline", origin.url)
    #expect(stored.outputText.hasPrefix("HTTP/1.1 200 OK\r\nX-A: é\r\n"))
    #expect(
      stored.outputText.contains("\r\nAge: ")
        && stored.outputText.contains("\r\nCache-Status: cachefetch; hit"))
    #expect(stored.outputText.hasSuffix("\r\n\r\none"))
    // `show` adds those two to what is stored, and nothing else.
    let shown = try await shell.run("show", "-i", origin.url)
    let names = shown.outputText.split(separator: "\r\n").dropFirst().dropLast().map {
      $0.prefix { $0 != ":" }
    }
    #expect(
      Set(names) == ["X-A", "ETag", "Content-Length", "Date", "Age", "Cache-Status"] && names.count == 6,
      "\(names)")
  }

  @Test func `1xx heads come first under -i`() async throws {
    let shell = try Shell()
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
      try connection.send(.ok("x"))
    }
    let run = try await shell.run("-i", origin.url + "/")
    #expect(
      run.outputText == "HTTP/1.1 103 \r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
  }

  @Test func `-I asks with HEAD and prints the head alone`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one", ["X-A": "b"]))
    let run = try await shell.run("-I", origin.url)
    #expect(run.outputText == "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 3\r\n\r\n")
    #expect(origin.server.requests().map(\.method) == ["HEAD"])
    // Another status is a change, although the length that stands for the body is the same.
    _ = try await shell.run(origin.url)
    origin.answer(.status(404, "two"))
    let gone = try await shell.run("-I", "--json", origin.url)
    #expect(gone.lines.last?.contains("\"status\":404") == true, "\(gone.outputText)")
    #expect(gone.lines.last?.contains("\"change\":\"changed\"") == true, "\(gone.outputText)")
  }

  @Test func `a POST passes the store by and is printed`() async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in try connection.send(.ok(request.bodyText)) }
    #expect(try await shell.run("-d", "a=1", origin.url + "/").outputText == "a=1")
    #expect(try await shell.run("-d", "@-", origin.url + "/", input: Array("b=2".utf8)).outputText == "b=2")
    #expect(try await shell.run("--offline", "-d", "a=1", origin.url + "/").status == 4)
    #expect(try await shell.run("--read", "-d", "c=3", origin.url + "/").outputText == "c=3")
    #expect(try await shell.run("--offline", "--read", "-d", "c=3", origin.url + "/").outputText == "c=3")
  }
}
