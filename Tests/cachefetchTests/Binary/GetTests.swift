import FixtureServer
import PlatformFoundation
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
    #expect(failing.outputText == "one" && failing.status == 3)
    #expect(try await shell.run("--offline", origin.url).outputText == "one")
  }

  @Test func `a 503 is a failure where a row is stored and an answer where none is`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.status(503, "busy"))
    let alone = try await shell.run("--retry", "0", "--connect-timeout", "1h", origin.url)
    #expect(alone.outputText == "busy" && alone.status == 0)
    #expect(try await shell.run("--retry", "0", "--connect-timeout", "1h", "-f", origin.url).status == 22)
    origin.answer(.ok("one"))
    _ = try await shell.run(origin.url)
    origin.answer(.status(503, "busy"))
    let stored = try await shell.run("--retry", "0", "--connect-timeout", "1h", origin.url)
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
    let inTime = try await shell.run("--deadline", "1h", origin.url)
    #expect(inTime.outputText == "one" && inTime.status == 0)
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
