import DataService
import FixtureServer
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Command: watch", .inTurn) struct WatchTests {
  @Test func `only changes are printed, against the stored answer, and SIGINT ends it with 130`() async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one\n", ["ETag": "\"1\""]))
    _ = try await shell.run(origin.url)
    let child = try shell.start("watch", "--every", "20ms", origin.url)
    await origin.server.waitForRequests(4)
    #expect(child.output.bytes.isEmpty)
    origin.answer(.ok("two\n", ["ETag": "\"2\""]))
    #expect(await child.output.lines(1) == ["two"])
    origin.answer(.ok("three\n", ["ETag": "\"3\""]))
    #expect(await child.output.lines(2) == ["two", "three"])
    child.send(SIGINT)
    let finished = await child.finished()
    #expect(finished.status == 130 && finished.outputText == "two\nthree\n")
  }

  @Test func `with nothing stored the first answer is the baseline`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one\n"))
    let child = try shell.start("watch", "--until-changed", "--every", "20ms", origin.url)
    await origin.server.waitForRequests(3)
    origin.answer(.ok("two\n"))
    let finished = await child.finished()
    #expect(finished.status == 0 && finished.outputText == "two\n")
  }

  @Test func `a change that another process fetched first is not missed`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one\n", ["ETag": "\"1\""]))
    _ = try await shell.run(origin.url)
    let child = try shell.start("watch", "--until-changed", "--every", "300ms", origin.url)
    await origin.server.waitForRequests(2)
    origin.answer(.ok("two\n", ["ETag": "\"2\""]))
    #expect(try await shell.run("--policy", "fresh-only", origin.url).outputText == "two\n")
    let finished = await child.finished()
    #expect(finished.status == 0 && finished.outputText == "two\n")
  }

  @Test func `an outage is one line when it begins and one when it ends`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one\n"))
    let child = try shell.start("watch", "--retry", "0", "--every", "20ms", origin.url)
    await origin.server.waitForRequests(2)
    origin.answer(.status(503, "busy"))
    #expect((await child.errors.lines(1)).first?.contains(" answered 503") == true)
    await origin.server.waitForRequests(origin.server.requests().count + 5)
    #expect(child.errors.text.split(separator: "\n").count == 1, "\(child.errors.text)")
    origin.answer(.ok("one\n"))
    #expect((await child.errors.lines(2)).last?.contains("answers again") == true)
    await origin.server.waitForRequests(origin.server.requests().count + 5)
    child.send(SIGTERM)
    let finished = await child.finished()
    #expect(finished.status == 143 && finished.output.isEmpty)
    #expect(finished.errorText.split(separator: "\n").count == 2, "\(finished.errorText)")
  }

  @Test(arguments: [503, 429]) func `an outage in which the origin asks to be left alone is one, too`(
    status: Int
  )
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one\n"))
    _ = try await shell.run(origin.url)
    let child = try shell.start("watch", "--retry", "0", "--every", "20ms", origin.url)
    await origin.server.waitForRequests(2)
    origin.answer(.status(status, "busy", ["Retry-After": "1"]))
    // Answered, paused, asked again when the pause is over, and paused again.
    await origin.server.waitForRequests(origin.server.requests().count + 2)
    #expect(child.errors.text.split(separator: "\n").count == 1, "\(child.errors.text)")
    origin.answer(.ok("one\n"))
    #expect((await child.errors.lines(2)).last?.contains("answers again") == true)
    child.send(SIGTERM)
    #expect(await child.finished().errorText.split(separator: "\n").count == 2)
  }

  @Test func `a change of the status alone is shown, and ends --until-changed`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("same\n"))
    _ = try await shell.run(origin.url)
    let child = try shell.start("watch", "--every", "20ms", origin.url)
    let json = try shell.start("watch", "--json", "--every", "20ms", origin.url)
    let until = try shell.start("watch", "--until-changed", "--every", "20ms", origin.url)
    await origin.server.waitForRequests(7)
    origin.answer(.status(404, "same\n"))
    #expect(await child.errors.lines(1) == ["cachefetch: \(origin.url): status 200 → 404"])
    let object = await json.output.lines(1)[0]
    #expect(object.contains("\"status\":404") && object.contains("\"change\":\"unchanged\""))
    #expect(await until.finished().status == 0)
    await origin.server.waitForRequests(origin.server.requests().count + 8)
    origin.answer(.ok("same\n"))
    #expect(await child.errors.lines(2).last == "cachefetch: \(origin.url): status 404 → 200")
    _ = await json.output.lines(2)
    for process in [child, json] { process.send(SIGTERM) }
    #expect(await child.finished().output.isEmpty)
    #expect(await json.finished().lines.count == 2)
  }

  @Test func `-f ends it with 22 at the first status of 400 or more, which an outage is not`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one\n"))
    let child = try shell.start("watch", "-f", "--retry", "0", "--every", "20ms", origin.url)
    await origin.server.waitForRequests(2)
    origin.answer(.status(503, "busy"))
    await origin.server.waitForRequests(origin.server.requests().count + 3)
    origin.answer(.status(404, "gone\n"))
    let finished = await child.finished()
    #expect(finished.status == 22 && finished.output.isEmpty)
    #expect(finished.errorText.hasSuffix("status 200 → 404\n"), "\(finished.errorText)")
    let other = try await shell.run("watch", "-f", "--every", "20ms", origin.url + "2")
    #expect(other.status == 22 && other.errorText.contains("answered 404"))
  }

  @Test func `on a terminal it says what it watches, since nothing else is shown for long`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let child = try shell.start("watch", "--every", "1h", origin.url, output: .terminal, errors: .asOutput)
    #expect(await child.output.waits(for: "watching \(origin.url) every 1 hour; changes are shown"))
    child.send(SIGINT)
    #expect(await child.finished().status == 130)
  }

  @Test func `an origin that asks to be left alone is, whatever --every says`() async throws {
    let shell = try Shell()
    let busy = try ChangingOrigin(.status(503, "later", ["Retry-After": "3600"]))
    let other = try ChangingOrigin()
    let child = try shell.start("watch", "--every", "20ms", "--retry", "0", busy.url, other.url)
    await other.server.waitForRequests(20)
    child.send(SIGINT)
    _ = await child.finished()
    #expect(busy.server.requests().count == 1)
  }

  @Test func `under --json changes and changes of state are objects`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one"))
    let child = try shell.start("watch", "--json", "--retry", "0", "--every", "20ms", origin.url)
    await origin.server.waitForRequests(2)
    origin.answer(.ok("two"))
    #expect((await child.output.lines(1))[0].hasPrefix("{\"delivery\":\"fresh\""))
    origin.answer(.status(503, "busy"))
    #expect((await child.output.lines(2))[1].hasPrefix("{\"delivery\":\"failure\""))
    origin.answer(.ok("two"))
    #expect((await child.output.lines(3))[2].contains("\"change\":\"unchanged\""))
    child.send(SIGINT)
    #expect(await child.finished().status == 130)
  }

  @Test func `the pause is what --every says, a tenth more or less`() throws {
    let plan = try WatchPlan(try ArgumentParser.parse(["watch", "--every", "10s", "http://a/"]))
    #expect(plan.pause(after: nil) { $0.lowerBound } == .seconds(9))
    #expect(plan.pause(after: nil) { $0.upperBound } == .seconds(11))
    let usual = try WatchPlan(try ArgumentParser.parse(["watch", "http://a/"]))
    #expect(usual.pause(after: nil) { _ in 0 } == .seconds(30))
  }

  @Test(arguments: [("10ms", true), ("9ms", false), ("0.01", true), ("0.009", false), ("0", false)])
  func `less than 10 ms is no pause`(every: String, isTaken: Bool) throws {
    let arguments = try ArgumentParser.parse(["watch", "--every", every, "http://a/"])
    do throws(UsageError) {
      let plan = try WatchPlan(arguments)
      #expect(isTaken && plan.every == .milliseconds(10))
    } catch {
      #expect(!isTaken && error.line.contains("is no pause; write at least 10ms"), "\(error.line)")
    }
  }

  @Test func `a request that changes something is not repeated`() {
    #expect(throws: UsageError.self) {
      try WatchPlan(try ArgumentParser.parse(["watch", "-d", "x", "http://a/"]))
    }
  }
}

@Suite("Command: diff", .inTurn) struct DiffTests {
  @Test func `the same is 0 and silent, other text is 1 and a unified difference`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("a\nb\n"))
    _ = try await shell.run(origin.url)
    let same = try await shell.run("diff", origin.url)
    #expect(same.status == 0 && same.output.isEmpty)
    origin.answer(.ok("a\nc\n"))
    let other = try await shell.run("diff", origin.url)
    #expect(
      other.status == 1 && other.outputText.hasPrefix("--- stored ")
        && other.outputText.hasSuffix(" a\n-b\n+c\n"))
    #expect(try await shell.run("diff", origin.url).status == 0)
  }

  @Test func `JSON is compared by path, but for what --ignore-path names`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok(#"{"time":1,"a":{"b":[1,2]},"c":"x"}"#))
    _ = try await shell.run(origin.url)
    origin.answer(.ok(#"{"time":2,"a":{"b":[1,3,4]},"d/e":null}"#))
    let run = try await shell.run("diff", "--ignore-path", "/time", origin.url)
    #expect(run.status == 1)
    #expect(run.lines == ["- /a/b/1: 2", "+ /a/b/1: 3", "+ /a/b/2: 4", "- /c: \"x\"", "+ /d~1e: null"])
    origin.answer(.ok(#"{"d/e":null, "time":3, "a":{"b":[1,3,4]}}"#))
    #expect(try await shell.run("diff", "--ignore-path", "/time", origin.url).status == 0)
  }

  @Test func `binary bodies and statuses are told apart`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok([0, 1, 2]))
    _ = try await shell.run(origin.url)
    origin.answer(.ok([0, 1, 2, 3]))
    #expect(try await shell.run("diff", origin.url).outputText == "binary bodies differ: 3 B → 4 B\n")
    origin.answer(.status(404, "gone"))
    #expect(try await shell.run("diff", origin.url).outputText == "status 200 → 404\n")
  }

  @Test func `the first time is no trouble; 3 without a fresh answer, 4 without any or where none is kept`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let first = try await shell.run("diff", origin.url)
    #expect(first.status == 0 && first.output.isEmpty)
    #expect(first.errorText.contains("nothing stored yet to compare with"), "\(first.errorText)")
    #expect(try await shell.run("diff", origin.url).errors.isEmpty)
    origin.answer(.ok("never kept", ["Cache-Control": "no-store"]))
    let unkept = try await shell.run("diff", origin.url + "2")
    #expect(unkept.status == 4 && unkept.errorText.contains("was not stored either (noStore)"))
    origin.server.stop()
    #expect(try await shell.run("diff", "--retry", "0", origin.url).status == 3)
    #expect(try await shell.run("diff", "--retry", "0", origin.url + "3").status == 4)
  }

  @Test func `no body is written to any folder`() async throws {
    var shell = try Shell()
    let folder = try TemporaryFolder()
    // A program diff that shows what it was given, and what is in the folder for temporary files meanwhile.
    try folder.write(
      "#!/bin/sh\nfor f in \"$6\" \"$7\"; do readlink \"$f\"; cat \"$f\"; done\nls -A \"$TMPDIR\"; exit 1\n",
      to: "diff")
    let temporary = folder.file("tmp")
    #expect(mkdir(temporary, 0o700) == 0 && chmod(folder.file("diff"), 0o700) == 0)
    shell.environment["PATH"] = "\(folder.path):/usr/bin:/bin"
    shell.environment["TMPDIR"] = temporary
    let origin = try ChangingOrigin(.ok("one\n"))
    _ = try await shell.run(origin.url)
    origin.answer(.ok("two\n"))
    let run = try await shell.run("diff", origin.url)
    #expect(
      run.lines == ["/memfd:cachefetch (deleted)", "one", "/memfd:cachefetch (deleted)", "two"],
      "\(run.outputText)")
  }
}
