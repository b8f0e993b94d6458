import FixtureServer
import TestSupport
import Testing

@Suite("Command: the JSON schema", .timeLimit(.minutes(1))) struct SchemaTests {
  /// Says on standard output what is wrong with each line of standard input.
  private static let validator = """
    import json, sys
    from jsonschema import Draft202012Validator
    schema = json.load(open(sys.argv[1]))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for line in sys.stdin:
        for error in validator.iter_errors(json.loads(line)):
            print(error.message, "in", line)
    """

  /// What is wrong with lines by a schema in the repository's docs.
  private func problems(_ lines: [UInt8], schema: String = "delivery") async throws -> String {
    let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    let run = try await ChildProcess.run(
      "/usr/bin/python3", ["-c", Self.validator, "\(root)/docs/\(schema).schema.json"], input: lines)
    #expect(run.status == 0, "\(run.errorText)")
    return run.outputText
  }

  @Test func `real output of every kind satisfies it`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    var lines: [UInt8] = []
    lines += try await shell.run("--json", origin.url).output
    lines += try await shell.run("--json", origin.url).output
    lines += try await shell.run("--json", "-o", "out", origin.url).output
    lines += try await shell.run("--json", "-I", origin.url).output
    lines += try await shell.run("--json", "-u", "a:b", origin.url).output
    origin.answer(.ok([0xFF, 0xFE], ["Cache-Control": "no-store"]))
    lines += try await shell.run("--json", origin.url).output
    origin.answer(.status(404, "gone"))
    lines += try await shell.run("--json", "-f", origin.url).output
    origin.answer(.status(503, "busy"))
    lines += try await shell.run("--json", "--retry", "0", origin.url).output
    lines += try await shell.run("--json", "--offline", origin.url + "/none").output
    origin.server.stop()
    lines += try await shell.run("--json", "--retry", "0", origin.url).output
    #expect(lines.split(separator: 0x0A).count >= 13)
    #expect(try await problems(lines) == "")
  }

  @Test func `what watch says of changes, an outage and its end satisfies it`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let child = try shell.start("watch", "--json", "--retry", "0", "--every", "20ms", origin.url)
    await origin.server.waitForRequests(2)
    origin.answer(.ok("two"))
    await child.output.lines(1)
    origin.answer(.status(503))
    await child.output.lines(2)
    origin.answer(.ok("three"))
    await child.output.lines(3)
    child.send(2)
    let lines = await child.finished().output
    #expect(lines.split(separator: 0x0A).count >= 3)
    #expect(try await problems(lines) == "")
  }

  @Test func `what preload says satisfies its own`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("x"))
    var lines = try await shell.run("preload", "--json", origin.url).output
    lines += try await shell.run("preload", "--json", "--max-age", "1h", origin.url).output
    origin.answer(.ok("y", ["Cache-Control": "no-store"]))
    lines += try await shell.run("preload", "--json", origin.url).output
    origin.answer(.status(404))
    lines += try await shell.run("preload", "--json", origin.url + "/none").output
    origin.server.stop()
    lines += try await shell.run("preload", "--json", "--retry", "0", origin.url).output
    #expect(lines.split(separator: 0x0A).count == 5)
    #expect(try await problems(lines, schema: "preload") == "")
    #expect(try await problems(Array(#"{"delivery":"failure","url":"x"}"#.utf8), schema: "preload") != "")
  }

  @Test func `what stats says satisfies its own`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    _ = try await shell.run("-u", "a:b", origin.url)
    _ = try await shell.run("--key", "own", origin.url)
    let lines = try await shell.run("stats", "--json").output
    #expect(lines.split(separator: 0x0A).count >= 2)
    #expect(try await problems(lines, schema: "stats") == "")
    #expect(try await problems(Array(#"{"account":"","host":"x"}"#.utf8), schema: "stats") != "")
  }

  @Test func `the schema refuses what it should`() async throws {
    for line in [
      #"{"delivery":"failure","url":"x","method":"GET"}"#, #"{"delivery":"other","url":"x","method":"GET"}"#,
      #"{"delivery":"failure","url":"x","method":"GET","error":{"kind":"a","message":"b"},"extra":1}"#,
    ] {
      #expect(try await problems(Array((line + "\n").utf8)) != "")
    }
  }
}
