import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("Command: what get prints", .inTurn) struct PrintCommandTests {
  @Test(
    "Each mode of --print prints the deliveries that it names",
    arguments: [
      ("both", "onetwo", "one", "one"), ("stored", "one", "one", "one"), ("fresh", "two", "one", ""),
      ("last", "two", "one", "one"), ("changed", "two", "", ""), ("none", "", "", ""),
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
      #expect(line.hasPrefix("HTTP/1.1"), "\(line)")
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
      #expect(hit.status == 0 && hit.output.isEmpty, "\(words)")
      #expect(
        hit.errorText.hasSuffix("the stored response was enough, so that --print fresh printed nothing\n"),
        "\(words)")
    }
    #expect(try await shell.run("--print", "none", origin.url).errors.isEmpty)
  }

  @Test(arguments: [(400, "400 Bad Request"), (404, "404 Not Found")])
  func `-f and --fail-with-body say a line and end with 22`(status: Int, words: String) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.status(status, "gone"))
    let fail = try await shell.run("-f", origin.url)
    #expect(fail.status == 22 && fail.output.isEmpty)
    #expect(fail.errorText == "cachefetch: \(origin.url): answered \(words); its body is not printed\n")
    let body = try await shell.run("--fail-with-body", origin.url)
    #expect(body.status == 22 && body.outputText == "gone")
    #expect(body.errorText == "cachefetch: \(origin.url): answered \(words)\n")
    let quiet = try await shell.run("-fq", origin.url)
    #expect(quiet.status == 22 && quiet.errors.isEmpty)
    origin.answer(.ok("one"))
    #expect(try await shell.run("-f", origin.url).errors.isEmpty)
    // Once something is stored, that is what was delivered.
    origin.answer(.status(status, "gone"))
    let stored = try await shell.run("-f", origin.url)
    #expect(stored.status == 3 && stored.outputText == "one")
    #expect(
      stored.errorText
        == "cachefetch: \(origin.url): answered \(words); the stored response is printed instead\n")
    let both = try await shell.run("--fail-with-body", origin.url)
    #expect(both.status == 3 && both.outputText == "onegone")
  }

  @Test func `a binary body comes out as it went in`() async throws {
    let shell = try Shell()
    let bytes = distinctBytes(70_000)
    let origin = try FixtureServer { _, connection in try connection.send(.ok(bytes)) }
    #expect(try await shell.run(origin.url + "/").output == bytes)
    #expect(try await shell.run("--offline", origin.url + "/").output == bytes)
    #expect(try await shell.run("show", origin.url + "/").output == bytes)
  }

  @Test func `a body of many chunks comes out whole, fresh and stored`() async throws {
    let shell = try Shell()
    let bytes = distinctBytes(3_000_000)
    let origin = try FixtureServer { _, connection in try connection.send(.ok(bytes)) }
    #expect(try await shell.run(origin.url + "/").output == bytes)
    #expect(try await shell.run("--offline", origin.url + "/").output == bytes)
  }
}
