import FixtureServer
import TestSupport
import Testing
import TestTurns

@Suite("Command: --print last", .inTurn) struct PrintLastTests {
  @Test func `--print last prints one body, the newest there is, whatever ends the load`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one", ["ETag": "\"1\"", "Cache-Control": "max-age=600"]))
    func last(_ words: String...) async throws -> (String, Int32) {
      let run = try await shell.run(
        ["--print", "last", "--retry", "0", "--connect-timeout", "1h"] + words + [origin.url])
      return (run.outputText, run.status)
    }
    #expect(try await last() == ("one", 0))
    origin.server.forgetRequests()
    for words in [["--offline"], ["--policy", "stored-only"], ["--max-age", "1h"], ["--policy", "http"]] {
      let run = try await shell.run(["--print", "last"] + words + [origin.url])
      #expect(run.outputText == "one" && run.status == 0, "\(words)")
      let json = try await shell.run(["--print", "last", "--json"] + words + [origin.url])
      #expect(json.lines.count == 1 && json.outputText.hasPrefix(#"{"delivery":"stored""#), "\(words)")
      let file = try await shell.run(["--print", "last", "-o", "out"] + words + [origin.url])
      #expect(try file.output.isEmpty && shell.store.folder.text(of: "out") == "one", "\(words)")
    }
    #expect(origin.server.requests().isEmpty)
    #expect(try await last("--background") == ("one", 0))
    // The next to ask would be given what that process is told, not what it would be told itself.
    try await shell.backgroundEnd()
    origin.answer(.status(404, "gone"))
    #expect(try await last() == ("gone", 0))
    // An error's page that stays out of sight is no body: the stored one is the newest that is shown.
    #expect(try await last("-f") == ("one", 3))
    origin.answer(.status(503, "busy"))
    #expect(try await last() == ("one", 3))
    origin.server.stop()
    #expect(try await last() == ("one", 3))
    #expect(try await last("--max-age", "0s") == ("one", 3))
  }

  @Test(
    "Under --print last an error's page that stays out of sight brings out the stored body",
    arguments: [["--deadline", "1h"], ["--max-age", "0s"], ["--policy", "fresh-else-stored"]])
  func storedForAnError(policy: [String]) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    origin.answer(.status(404, "gone"))
    let words = policy + ["--print", "last"]
    let failed = try await shell.run(words + ["-f", origin.url])
    #expect(failed.outputText == "one" && failed.status == 3, "\(failed.exit)")
    #expect(
      failed.errorText
        == "cachefetch: \(origin.url): answered 404 Not Found; the stored response is printed instead\n")
    let json = try await shell.run(words + ["-f", "--json", origin.url])
    #expect(json.lines.count == 1 && json.outputText.hasPrefix(#"{"delivery":"stored""#) && json.status == 3)
    let file = try await shell.run(words + ["-o", "out", origin.url])
    #expect(try shell.store.folder.text(of: "out") == "one" && file.status == 3, "\(file.exit)")
    #expect(
      file.errorText == "cachefetch: \(origin.url): answered 404 Not Found; “out” has the stored response\n")
    // Where nothing is stored the file is not made.
    let nothing = try await shell.run(words + ["-o", "none", origin.url + "/2"])
    #expect(
      nothing.status == 22 && nothing.errorText.contains("“none” is not written"), "\(nothing.errorText)")
    #expect(!shell.store.folder.contains("none"))
    #expect(try await shell.run(words + [origin.url]).outputText == "gone")
  }

  @Test(arguments: [[], ["--json"], ["-o", "out"]])
  func `under --print last the time limit brings out the body that was held`(words: [String]) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let gate = origin.hold()
    origin.answer(.ok("two"))
    // On a busy machine the time may be over before the origin is asked; then it is given more.
    var run = try await shell.run(["--print", "last", "-m", "1"] + words + [origin.url])
    for limit in ["5", "25"] where origin.server.requests().count < 2 {
      run = try await shell.run(["--print", "last", "-m", limit] + words + [origin.url])
    }
    #expect(run.status == 3 && run.errorText.contains("did not complete within the time limit"))
    switch words.first {
    case "--json":
      #expect(run.lines.count == 1 && run.outputText.contains("\"delivery\":\"stored\""))
      #expect(run.outputText.contains("\"body\":\"one\""))
    case "-o": #expect(try run.output.isEmpty && shell.store.folder.text(of: "out") == "one")
    default: #expect(run.outputText == "one")
    }
    gate.open()
  }

  @Test func `under --print last a held body that cannot be written is an error`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    origin.server.stop()
    let run = try await ChildProcess.run(
      "/bin/sh",
      ["-c", #""$0" --print last --retry 0 "$1" > /dev/full"#, BuiltProduct.cachefetch(), origin.url],
      environment: shell.environment, directory: shell.store.folder.path)
    #expect(
      run.status == 74 && run.errorText.contains("standard output cannot be written"), "\(run.errorText)")
  }

  @Test func `under --print last one URL's time limit holds up no other's body`() async throws {
    let shell = try Shell()
    let (slow, quick) = (try ChangingOrigin(.ok("slow,")), try ChangingOrigin(.ok("quick,")))
    _ = try await shell.run(slow.url, quick.url)
    let gate = slow.hold()
    quick.answer(.ok("new,"))
    var run = try await shell.run("--print", "last", "-m", "2", slow.url, quick.url)
    // A busy machine needs more time for the quick one.
    for limit in ["10", "50"] where run.errorText.contains(quick.url) {
      run = try await shell.run("--print", "last", "-m", limit, slow.url, quick.url)
    }
    #expect(run.outputText == "new,slow," && run.status == 3, "\(run.errorText)")
    gate.open()
  }

  @Test(
    "Under --print last a stored response that nothing fresh can follow is there at once",
    arguments: [["--policy", "http"], ["--deadline", "50ms"]])
  func lastAtOnce(words: [String]) async throws {
    let shell = try Shell()
    let lives = "max-age=0, stale-while-revalidate=600"
    let origin = try ChangingOrigin(.ok("one", ["ETag": "\"1\"", "Cache-Control": lives]))
    _ = try await shell.run(["--policy", "http", origin.url])
    let gate = origin.hold()
    let child = try ChildProcess(
      BuiltProduct.cachefetch(), ["--print", "last"] + words + [origin.url], environment: shell.environment)
    await child.output.waits(forBytes: 3)
    #expect(child.output.text == "one")
    gate.open()
    let finished = await child.finished()
    #expect(finished.outputText == "one" && finished.status == (words[0] == "--policy" ? 0 : 3))
  }
}
