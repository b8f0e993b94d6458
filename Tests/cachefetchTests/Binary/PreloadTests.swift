import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@Suite("Command: preload", .inTurn) struct PreloadTests {
  private static func origin() throws -> FixtureServer {
    try FixtureServer(routes: [
      "/a": .ok("aaa", ["ETag": "\"1\""]), "/b": .ok("bb"), "/gone": .status(404),
      "/private": .ok("p", ["Cache-Control": "no-store"]),
    ])
  }

  @Test func `a list on standard input fills the store, a line a request, and a summary`() async throws {
    let shell = try Shell()
    let origin = try Self.origin()
    let list = "# before the journey\n\(origin.url)/a\n\n\(origin.url)/b\n\(origin.url)/a\n"
    let run = try await shell.run("preload", "-", input: Array(list.utf8))
    #expect(run.status == 0 && run.output.isEmpty)
    let lines = run.errorText.split(separator: "\n")
    #expect(lines.count == 3)
    #expect(lines.contains { $0.hasPrefix("fresh, new, 3 B, ") && $0.hasSuffix(": \(origin.url)/a") })
    #expect(lines.last?.hasPrefix("2 requests in ") == true)
    #expect(lines.last?.hasSuffix(": 2 fresh (2 new); 5 B") == true)
    #expect(try await shell.run("--offline", "\(origin.url)/b").outputText == "bb")
  }

  @Test func `what the run itself removes to make room is not kept, and is said to be gone`() async throws {
    let shell = try Shell()
    let body = String(repeating: "b", count: 300_000)
    let origin = try FixtureServer { _, connection in try connection.send(.ok(body)) }
    _ = try await shell.run("limits", "--bytes", "2M")
    let urls = (10..<22).map { "\(origin.url)/\($0)" }
    let run = try await shell.run(["preload", "--parallel", "1"] + urls)
    let kept = try await shell.run("list").lines.count
    #expect(run.status == 4 && kept > 0 && kept < 12)
    #expect(
      run.errorText.hasSuffix(
        "\ncachefetch: \(12 - kept) responses had to make room for others; "
          + "allow more with cachefetch limits --bytes SIZE or --rows N, or request less\n"))
    let gone = run.errorText.split(separator: "\n").filter { $0.hasPrefix("missing, removed to make room: ") }
    #expect(gone.count == 12 - kept, "\(run.errorText)")
    for url in urls {
      let isGone = gone.contains { $0.hasSuffix(url) }
      #expect(try await shell.run("-q", "--offline", url).status == (isGone ? 4 : 0), "\(url)")
    }

    let json = try await shell.run(["preload", "-q", "--json", "--parallel", "1"] + urls)
    #expect(json.status == 4 && json.errors.isEmpty)
    let last = Dictionary(
      try json.lines.map { line in
        (try #require(line.firstMatch(of: #/"url":"([^"]*)"/#)).1, line)
      }, uniquingKeysWith: { $1 })
    #expect(last.count == 12)
    #expect(
      last.values.count { $0.contains("\"state\":\"missing\"") && $0.contains("\"kept_reason\":\"evicted\"") }
        == 12 - kept, "\(json.outputText)")
    // One that is pinned stays, so that there is nothing to say.
    #expect(try await shell.run("preload", "--pin", urls[0]).status == 0)
  }

  @Test func `with --max-age what is done is not fetched again`() async throws {
    let shell = try Shell()
    let origin = try Self.origin()
    _ = try await shell.run("preload", "\(origin.url)/a")
    let run = try await shell.run("preload", "--max-age", "1h", "\(origin.url)/a", "\(origin.url)/b")
    #expect(run.status == 0)
    #expect(run.errorText.contains("2 fresh (1 new, 1 young enough)"))
    #expect(origin.requests().count == 2)
  }

  @Test func `a malformed list is refused with its line number, before anything is fetched`() async throws {
    let shell = try Shell()
    let origin = try Self.origin()
    let run = try await shell.run("preload", "-", input: Array("\(origin.url)/a\nnonsense\n".utf8))
    #expect(run.status == 65)
    #expect(
      run.errorText
        == "cachefetch: standard input, line 2: “nonsense” has no scheme; did you mean https://nonsense?\n")
    #expect(origin.requests().isEmpty)
  }

  @Test func `URLs in lists and plans are what they are on the command line`() async throws {
    let shell = try Shell()
    let origin = try Self.origin()
    let resolve = ["--resolve", "bücher.example:\(origin.port):127.0.0.1"]
    let urls = ["a", "b"].map { "http://bücher.example:\(origin.port)/\($0)" }
    let list = try await shell.run(words: ["preload", "-"] + resolve, input: Array((urls[0] + "\n").utf8))
    #expect(list.status == 0, "\(list.errorText)")
    let plan = #"{"steps": [{"url": "\#(urls[1])"}]}"#
    #expect(try await shell.run(words: ["preload", "-"] + resolve, input: Array(plan.utf8)).status == 0)
    #expect(origin.requests().allSatisfy { $0["Host"] == "xn--bcher-kva.example:\(origin.port)" })
    for url in urls { #expect(try await shell.run(["show"] + resolve + [url]).status == 0, "\(url)") }
    for (url, part) in [
      ("http://-ü.example/", "is no valid name"), ("http://a/b c", "has a space in it; write it as %20"),
      ("ftp://a/", "the scheme “ftp” is not supported"), ("http://a/[1-3].png", "has a pattern in it"),
    ] {
      let refused = try await shell.run(
        words: ["preload", "-"], input: Array(#"{"steps": [{"url": "\#(url)"}]}"#.utf8))
      #expect(refused.status == 65 && refused.errorText.contains("line 1: step 1: "), "\(refused.errorText)")
      #expect(refused.errorText.contains(part), "\(refused.errorText)")
    }
    #expect(origin.requests().count == 2)
  }

  @Test func `URLs go out as they are spelt, from the command line, a list and a plan, under one key`()
    async throws
  {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in try connection.send(.ok(request.target)) }
    let target = "/a%7E|b/./c?x=[a]&y={^}&z=%2f"
    let plan = #"{"steps": [{"url": "\#(origin.url + target)"}, {"url": "\#(origin.url)/other%7e"}]}"#
    #expect(try await shell.run("-q", origin.url + target).outputText == target)
    for text in [origin.url + target + "\n", plan] {
      #expect(try await shell.run("preload", "-", input: Array(text.utf8)).status == 0)
    }
    // Those of a plan begin together.
    #expect(origin.requests().map(\.target).sorted() == [target, target, target, "/other%7e"])
    let normal = "/a~%7Cb/c?x=%5Ba%5D&y=%7B%5E%7D&z=%2F"
    #expect(try await shell.run("-q", "--offline", origin.url + normal).outputText == target)
    #expect(try await shell.run("list").lines.count == 2)
  }

  @Test func `a plan in a file; one that is wrong is bad data`() async throws {
    let shell = try Shell()
    let origin = try Self.origin()
    let folder = try TemporaryFolder()
    let plan = try folder.write(
      #"{"steps": [{"name": "a", "url": "\#(origin.url)/a"}, {"url": "\#(origin.url)/b", "critical": false}]}"#,
      to: "plan.json")
    let run = try await shell.run("preload", "--json", plan)
    #expect(run.status == 0)
    let lines = run.outputText.split(separator: "\n")
    #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix(#"{"delivery":"fresh","url":"http://"#) })
    let wrong = try folder.write("{\"steps\": [\n  {}]}", to: "wrong.json")
    let refused = try await shell.run("preload", wrong)
    #expect(refused.status == 65)
    #expect(refused.errorText.contains("wrong.json, line 2: steps 1: “url” is missing"))
  }

  @Test func `what a plan says of parallel holds for one host too, as what --parallel says`() async throws {
    let shell = try Shell()
    let held = Gate()
    let origin = try FixtureServer { _, connection in
      held.wait()
      try connection.send(.ok("body"))
    }
    let steps = (0..<12).map { #"{"url": "\#(origin.url)/\#($0)"}"# }.joined(separator: ", ")
    try shell.store.folder.write(#"{"parallel": 12, "steps": [\#(steps)]}"#, to: "plan.json")
    let child = try shell.launch(["preload", "plan.json"])
    // All of them come before the first is answered.
    await origin.waitForRequests(12)
    held.open()
    #expect(await child.exit() == .status(0))
    withExtendedLifetime(origin) {}
  }

  @Test func `the status is 4 where one is missing, 3 where all are at least stored`() async throws {
    let shell = try Shell()
    let origin = try Self.origin()
    _ = try await shell.run("preload", "\(origin.url)/a")
    let missing = try await shell.run("preload", "\(origin.url)/a", "\(origin.url)/gone")
    #expect(missing.status == 4)
    #expect(missing.errorText.contains("1 fresh (1 unchanged), 1 missing"))
    #expect(missing.errorText.contains("/gone: 127.0.0.1:\(origin.port) answered 404 Not Found"))
    let failing = try await shell.run("preload", "-f", "\(origin.url)/a", "\(origin.url)/gone")
    #expect(failing.status == 22)
    origin.stop()
    let down = try await shell.run("preload", "--retry", "0", "--json", "\(origin.url)/a")
    #expect(down.status == 3)
    #expect(
      down.outputText.contains(#""delivery":"failure""#) && down.outputText.contains(#""kind":"refused""#))
  }

  @Test func `an answer that may not be stored is said not to be kept, by the status too`() async throws {
    let shell = try Shell()
    let origin = try Self.origin()
    let run = try await shell.run("preload", "\(origin.url)/private")
    #expect(run.status == 4)
    #expect(run.errorText.contains("not kept (no-store)") && run.errorText.contains("1 not kept"))
  }

  @Test func `the deadline bounds the whole run`() async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      if request.path == "/slow" { connection.waitForPeerClose() }
      try connection.send(.ok("quick"))
    }
    _ = try await shell.run("preload", "\(origin.url)/quick")
    let urls = ["\(origin.url)/quick", "\(origin.url)/slow"]
    var run = try await shell.run(["preload", "--deadline", "300ms"] + urls)
    // A machine so busy that not even the store has answered by then is given more time.
    for deadline in ["3s", "30s"] where run.errorText.contains(", 2 missing; ") {
      run = try await shell.run(["preload", "--deadline", deadline] + urls)
    }
    #expect(run.status == 4)
    // The quick one is fresh or, on a busy machine, what is stored of it.
    #expect(run.errorText.contains(", 1 missing; "))
  }

  @Test func `what the run does not come to is stored where it is, and has the pin and the tag`() async throws
  {
    let shell = try Shell()
    let isSlow = Mutex(false)
    let origin = try FixtureServer { _, connection in
      if isSlow.withLock({ $0 }) { connection.waitForPeerClose() }
      try connection.send(.ok("stored"))
    }
    let urls = (1...4).map { "\(origin.url)/\($0)" }
    #expect(try await shell.run(["preload"] + urls.dropLast()).status == 0)
    isSlow.withLock { $0 = true }
    let words = ["preload", "--deadline", "300ms", "--parallel", "2", "--pin", "--tag", "trip", "--json"]
    let run = try await shell.run(words + urls.dropLast())
    #expect(run.status == 3 && run.errorText.contains("0 fresh, 3 only stored; "), "\(run.errorText)")
    #expect(run.lines.count == 3 && run.lines.allSatisfy { $0.contains(#""state":"stored""#) })
    let listed = try await shell.run("list", "--tag", "trip").lines
    #expect(listed.count == 3 && listed.allSatisfy { $0.contains("pinned\t") })
    let more = try await shell.run(words + urls)
    #expect(more.status == 4 && more.errorText.contains("3 only stored, 1 missing; "), "\(more.errorText)")
  }

  @Test(
    "Every request is named, with what became of it, whatever ends the run",
    arguments: [
      ["--deadline", "300ms"], ["--on-failure", "fail"], ["--deadline", "300ms", "--on-failure", "retry:9"],
    ],
    [true, false])
  func named(rule: [String], isJSON: Bool) async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      switch request.path {
      case "/quick": try connection.send(.ok("quick"))
      case "/gone": try connection.send(.status(404))
      default: connection.waitForPeerClose()
      }
    }
    let paths = ["/quick", "/slow", "/gone", "/slow2", "/slow3", "/slow4"]
    let run = try await shell.run(
      ["preload", "--parallel", "3"] + rule + (isJSON ? ["--json"] : []) + paths.map { origin.url + $0 })
    #expect(run.status == 4)
    let lines = isJSON ? run.lines : run.errorText.split(separator: "\n").dropLast().map(String.init)
    if isJSON { #expect(lines.count == paths.count) }
    for path in paths {
      let url = isJSON ? "\"\(origin.url)\(path)\"" : origin.url + path
      let own = lines.filter { isJSON ? $0.contains(url) : $0.contains(url + ":") || $0.hasSuffix(url) }
      #expect(isJSON ? own.count == 1 : !own.isEmpty, "\(path): \(lines)")
      // The quick one is fresh, unless a busy machine was late.
      if isJSON, path != "/quick" {
        #expect(own.first?.contains(#""delivery":"failure""#) == true, "\(path)")
        #expect(
          own.first?.contains(#""state":"missing""#) == true && own.first?.contains("\"message\":") == true,
          "\(path)")
      }
    }
    #expect(run.errorText.split(separator: "\n").last?.hasPrefix("6 requests in ") == true)
  }

  @Test func `a list or a plan is read from a file or standard input, and told apart by content`()
    async throws
  {
    let shell = try Shell()
    let origin = try Self.origin()
    let list = "\u{FEFF}# two\n\(origin.url)/a\n\(origin.url)/b\n"
    let plan = "\n {\"steps\": [{\"url\": \"\(origin.url)/a\"}, {\"url\": \"\(origin.url)/b\"}]}"
    try shell.store.folder.write(list.replacing("\u{FEFF}", with: ""), to: "list.txt")
    try shell.store.folder.write(plan, to: "plan")
    for (words, input) in [(["list.txt"], ""), (["./list.txt"], ""), (["plan"], ""), (["-"], plan)]
      + [(["-"], list.replacing("\u{FEFF}", with: ""))]
    {
      let run = try await shell.run(words: ["preload"] + words, input: Array(input.utf8))
      #expect(run.status == 0 && run.errorText.contains("2 requests in"), "\(words): \(run.errorText)")
    }
  }

  @Test(
    "A list that is not there is no such file, and what is in one is refused in plain words",
    arguments: [
      (["nowhere.txt"], 64, "“nowhere.txt”: no such file; name a plan or a list that is there, or write"),
      (["./nowhere"], 64, "“./nowhere”: no such file; "), (["plan.json"], 64, "“plan.json”: no such file; "),
      (["here.txt", "http://a/"], 64, "“here.txt” is a file, and a file stands alone"),
      (["array"], 65, "array, line 1: an object in braces is wanted here; a plan is {"),
      (["null.json"], 65, "null.json, line 1: an object in braces is wanted here; a plan is {"),
      (["weight"], 65, "weight, line 2: steps 1 weight: a number is wanted here; a plan is {"),
    ])
  func refused(words: [String], status: Int32, message: String) async throws {
    let shell = try Shell()
    try shell.store.folder.write("http://127.0.0.1:1/\n", to: "here.txt")
    try shell.store.folder.write("[]", to: "array")
    try shell.store.folder.write("null", to: "null.json")
    try shell.store.folder.write("{\"steps\": [\n{\"url\": \"http://a/\", \"weight\": \"a\"}]}", to: "weight")
    let run = try await shell.run(["preload"] + words)
    #expect(run.status == status)
    #expect(run.errorText.hasPrefix("cachefetch: \(message)"), "\(run.errorText)")
  }

  @Test func `an interrupt leaves the store whole, and the next run goes on`() async throws {
    let shell = try Shell()
    let held = Gate()
    let origin = try FixtureServer { request, connection in
      if request.path == "/3" { held.wait() }
      try connection.send(.ok("body"))
    }
    let urls = (0..<4).map { "\(origin.url)/\($0)" }
    let child = try shell.launch(["preload", "--json", "--parallel", "1"] + urls)
    await origin.waitForRequests(1, to: "/3")
    child.send(2)
    let interrupted = await child.finished()
    #expect(interrupted.status == 130)
    // What came and what was left are named, each once.
    #expect(interrupted.lines.count == 4, "\(interrupted.outputText)")
    for (line, url) in zip(interrupted.lines, urls) {
      let delivery = url.hasSuffix("/3") ? "failure" : "fresh"
      #expect(line.hasPrefix(#"{"delivery":"\#(delivery)","url":"\#(url)","#), "\(line)")
    }
    #expect(interrupted.errorText.contains("\(urls[3]): was left, since the run was ended\n"))
    #expect(interrupted.errorText.contains("4 requests in "), "\(interrupted.errorText)")
    held.open()
    let next = try await shell.run(["preload", "--max-age", "1h"] + urls)
    #expect(next.status == 0)
    #expect(next.errorText.contains("4 fresh (1 new, 3 young enough)"))
  }

  @Test func `--on-failure tries again so often, or gives up at the first`() async throws {
    let shell = try Shell()
    let asked = Mutex(0)
    let origin = try FixtureServer { _, connection in
      let number = asked.withLock { count in
        count += 1
        return count
      }
      try connection.send(number < 3 ? .status(500) : .ok("third"))
    }
    let words = ["preload", "--retry", "0", "--connect-timeout", "1h", "--parallel", "1", "--on-failure"]
    let url = origin.url + "/a"
    let failed = try await shell.run(words + ["fail", url, url + "b", url + "c"])
    #expect(failed.status == 4 && failed.errorText.contains("3 missing") && asked.withLock { $0 } == 1)
    let retried = try await shell.run(words + ["retry:2", url])
    #expect(retried.status == 0 && retried.errorText.contains("1 fresh (1 new)"))
    #expect(asked.withLock { $0 } == 3)
    #expect(!retried.errorText.contains("cachefetch: "), "\(retried.errorText)")
    for wrong in ["retry:0", "retry", "never"] {
      #expect(try await shell.run(words + [wrong, url]).status == 64, "\(wrong)")
    }
    withExtendedLifetime(origin) {}
  }

  @Test func `law 4: killed at any moment, what was said to be kept is kept`() async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      try connection.send(.ok("body of \(request.path)"))
    }
    let urls = (0..<400).map { "\(origin.url)/\($0)" }
    let child = try shell.launch(["preload", "--json", "--parallel", "32"] + urls)
    await child.output.lines(60)
    child.send(9)
    _ = await child.exit()
    let said = child.output.text.split(separator: "\n").dropLast().filter { $0.contains("\"kept\":true") }
    #expect(said.count >= 59)
    let stored = try await shell.run("list", "--json").outputText
    for line in said {
      let url = try #require(line.split(separator: "\"url\":\"").last?.prefix { $0 != "\"" })
      #expect(stored.contains("\"\(url)\""), "\(url)")
    }
    let next = try await shell.run(["preload", "--parallel", "32", "--max-age", "1h"] + urls)
    #expect(next.status == 0 && next.errorText.contains("400 fresh"))
    withExtendedLifetime(origin) {}
  }

  @Test func `on a terminal: a bar, and a question that is answered there`() async throws {
    let shell = try Shell()
    let origin = try Self.origin()
    origin.stop()
    let child = try shell.launch(
      ["preload", "--retry", "0", "--on-failure", "ask", "\(origin.url)/a"], onTerminal: true)
    #expect(await child.output.waits(for: "[r]etry, [q]uit?"))
    try origin.start()
    child.write(Array("r\n".utf8))
    let finished = await child.finished()
    #expect(finished.exit == .status(0))
    #expect(finished.outputText.contains("100%") && finished.outputText.contains("1 fresh (1 new); 3 B"))
  }

  @Test func `an interrupt at the question names every request too`() async throws {
    let shell = try Shell()
    let origin = try Self.origin()
    origin.stop()
    let child = try shell.launch(
      ["preload", "--retry", "0", "--json", "--on-failure", "ask", "\(origin.url)/a"], onTerminal: true)
    #expect(await child.output.waits(for: "[r]etry, [q]uit?"))
    // It sleeps: it reads the answer.
    let isReading = await eventually {
      let status = try? String(contentsOfFile: "/proc/\(child.pid)/stat", encoding: .utf8)
      return status?.split(separator: ")").last?.hasPrefix(" S") == true
    }
    try #require(isReading)
    child.send(2)
    let finished = await child.finished()
    #expect(finished.exit == .status(130))
    #expect(finished.outputText.contains(#"{"delivery":"failure","url":"\#(origin.url)/a","#))
    #expect(finished.outputText.contains("1 request in "), "\(finished.outputText)")
  }

  @Test func `where a person types but does not see the question, none is asked`() async throws {
    let shell = try Shell()
    let origin = try Self.origin()
    origin.stop()
    let child = try shell.launch(
      ["preload", "--retry", "0", "--on-failure", "ask", "\(origin.url)/a"], onTerminal: true,
      seesErrors: false)
    // The answer to a question that is not asked.
    child.write(Array("q\n".utf8))
    let finished = await child.finished()
    #expect(finished.errorText.contains("there is nobody to ask"), "\(finished.errorText)")
    #expect(!finished.errorText.contains("[q]uit"))
  }
}

extension Shell {
  /// Starts it with words put together by the test; at a terminal, where what it asks can be answered.
  fileprivate func launch(
    _ words: [String], onTerminal: Bool = false, seesErrors: Bool = true
  ) throws -> ChildProcess {
    var environment = environment
    environment["TERM"] = "xterm"
    return try ChildProcess(
      BuiltProduct.cachefetch(), words, environment: environment, directory: store.folder.path,
      input: onTerminal ? nil : [], typesInput: onTerminal, output: onTerminal ? .terminal : .captured,
      errors: onTerminal && seesErrors ? .asOutput : .captured)
  }
}
