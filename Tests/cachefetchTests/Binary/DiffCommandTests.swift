import DataService
import FixtureServer
import PlatformC
import TestSupport
import Testing
import TestTurns
@testable import cachefetch

@Suite("Command: diff", .inTurn) struct DiffCommandTests {
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

  @Test func `a text that could be a number is compared as text, and JSON by value`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("1.1\n"))
    _ = try await shell.run(origin.url)
    origin.answer(.ok("1.10\n"))
    let version = try await shell.run("diff", origin.url)
    #expect(version.status == 1 && version.outputText.hasSuffix("\n-1.1\n+1.10\n"), "\(version.outputText)")
    for (body, status) in [("1", 1), ("1.0", 0), (#"{"a": 1}"#, 1), (#"{ "a":1.0 }"#, 0)] as [(String, Int32)]
    {
      origin.answer(.ok(body, ["Content-Type": "application/problem+json; charset=utf-8"]))
      #expect(try await shell.run("diff", origin.url).status == status, "\(body)")
    }
  }

  @Test func `binary bodies and statuses are told apart`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok([0, 1, 2]))
    _ = try await shell.run(origin.url)
    origin.answer(.ok([0, 1, 2, 3]))
    #expect(try await shell.run("diff", origin.url).outputText == "binary bodies differ: 3 B → 4 B\n")
    origin.answer(.status(404, "gone"))
    #expect(
      try await shell.run("diff", origin.url).outputText
        == "status 200 → 404\nbinary bodies differ: 4 B → 4 B\n")
    origin.answer(.status(404, "\0\u{1}\u{2}\u{3}"))
    let same = try await shell.run("diff", origin.url)
    #expect(same.status == 1 && same.outputText == "status 200 → 404\n")
  }

  @Test func `of another status the bodies are compared too, since the fresh one is stored`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("a\n"))
    _ = try await shell.run(origin.url)
    origin.answer(.status(201, "b\n"))
    let text = try await shell.run("diff", origin.url)
    #expect(
      text.status == 1 && text.outputText.hasPrefix("status 200 → 201\n--- stored ")
        && text.outputText.hasSuffix("\n-a\n+b\n"), "\(text.outputText)")
    #expect(try await shell.run("diff", origin.url).status == 0)
    origin.answer(.ok(#"{"a":1}"#))
    _ = try await shell.run(origin.url)
    origin.answer(.status(203, #"{"a":2}"#))
    let json = try await shell.run("diff", "--json", origin.url)
    #expect(
      json.status == 1 && json.outputText.contains(#""changes":[{"path":"/a","old":1,"new":2}]"#),
      "\(json.outputText)")
  }

  @Test func `of bodies over 64 MiB it is said that they differ, and their sizes`() async throws {
    let shell = try Shell()
    var body = [UInt8](repeating: 0x61, count: 65 << 20)
    let origin = try ChangingOrigin(.ok(body))
    #expect(try await shell.run("preload", origin.url).status == 0)
    let same = try await shell.run("diff", origin.url)
    #expect(same.status == 0 && same.output.isEmpty && same.errors.isEmpty, "\(same.exit) \(same.errorText)")
    body[body.count - 1] = 0x62
    origin.answer(.ok(body))
    let other = try await shell.run("diff", origin.url)
    #expect(other.status == 1 && other.errors.isEmpty, "\(other.exit) \(other.errorText)")
    #expect(other.outputText == "large bodies differ: 68.2 MB → 68.2 MB\n")
    // What may not be stored is not compared, and nothing is said of it.
    origin.answer(.ok(body, ["Cache-Control": "no-store"]))
    let unstored = try await shell.run("diff", origin.url)
    #expect(unstored.status == 4 && unstored.output.isEmpty)
    #expect(unstored.errorText.contains("were not compared"), "\(unstored.errorText)")
    // The changed one was stored, and one side that is large is enough.
    origin.answer(.ok("small\n"))
    let small = try await shell.run("diff", origin.url)
    #expect(small.status == 1 && small.outputText == "large bodies differ: 68.2 MB → 6 B\n")
    #expect(try await shell.run("--offline", origin.url).outputText == "small\n")
  }

  @Test func `what is stored has the tags that it is given`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    #expect(try await shell.run("diff", "--tag", "night", origin.url).status == 0)
    #expect(try await shell.run("list", "--tag", "night").lines.count == 1)
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
    #expect(unkept.status == 4 && unkept.errorText.contains("was not stored either (no-store)"))
    origin.server.stop()
    #expect(try await shell.run("diff", "--retry", "0", origin.url).status == 3)
    #expect(try await shell.run("diff", "--retry", "0", origin.url + "3").status == 4)
  }

  @Test(
    "Where the fresh response is not stored, so that the difference comes again, that is said with the reason",
    arguments: [
      (FixtureReply.status(404, "b\n"), "its status"),
      (.ok("b\n", ["Cache-Control": "no-store"]), "no-store"),
      (.ok("b\n", ["Vary": "*"]), "Vary: *"),
    ])
  func unkept(reply: FixtureReply, reason: String) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("a\n"))
    _ = try await shell.run(origin.url)
    origin.answer(reply)
    let said =
      "cachefetch: \(origin.url): the fresh response was not stored (\(reason)): the next run compares with what "
      + "is stored now\n"
    for words in [["diff"], ["diff"], ["diff", "--json"]] {
      let run = try await shell.run(words + [origin.url])
      #expect(run.status == 1 && run.errorText == said, "\(words): \(run.errorText)")
    }
    // Where nothing differs there is nothing to say.
    origin.answer(.ok("a\n", ["Cache-Control": "no-store"]))
    #expect(try await shell.run("diff", origin.url).errors.isEmpty)
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
