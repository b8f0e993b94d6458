import DataService
import FixtureServer
import PlatformC
import TestSupport
import Testing
import TestTurns
@testable import cachefetch

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

  @Test func `a reader that goes away ends it as a closed pipe does, without another change`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one\n"))
    _ = try await shell.run(origin.url)
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let child = try shell.start("watch", "--every", "20ms", origin.url, output: .descriptor(ends[1]))
    close(ends[1])
    await origin.server.waitForRequests(3)
    origin.answer(.ok("two\n"))
    var line = [UInt8](repeating: 0, count: 16)
    #expect(read(ends[0], &line, line.count) == 4)
    close(ends[0])
    let finished = await child.finished()
    #expect(finished.exit == .signal(SIGPIPE) && finished.errors.isEmpty)
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

  @Test func `a first answer that is a failure is told, and watched like any other`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.status(404, "none\n"))
    let child = try shell.start("watch", "--until-changed", "--every", "20ms", origin.url)
    await origin.server.waitForRequests(3)
    origin.answer(.ok("there\n"))
    let finished = await child.finished()
    #expect(finished.status == 0 && finished.outputText == "there\n")
    #expect(
      finished.errorText
        == "cachefetch: \(origin.url): answered 404 Not Found\ncachefetch: \(origin.url): status 404 → 200\n",
      "\(finished.errorText)")
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
    let child = try shell.start(
      "watch", "--retry", "0", "--connect-timeout", "1h", "--every", "20ms", origin.url)
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
    let child = try shell.start(
      "watch", "--retry", "0", "--connect-timeout", "1h", "--every", "20ms", origin.url)
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
    let child = try shell.start(
      "watch", "-f", "--retry", "0", "--connect-timeout", "1h", "--every", "20ms", origin.url)
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
    let child = try shell.start(
      "watch", "--every", "20ms", "--retry", "0", "--connect-timeout", "1h", busy.url, other.url)
    await other.server.waitForRequests(20)
    child.send(SIGINT)
    _ = await child.finished()
    #expect(busy.server.requests().count == 1)
  }

  @Test func `under --json changes and changes of state are objects`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one"))
    let child = try shell.start(
      "watch", "--json", "--retry", "0", "--connect-timeout", "1h", "--every", "20ms", origin.url)
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
}
