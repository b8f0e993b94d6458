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

  /// The schema in the repository's docs.
  private var schema: String {
    "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/") + "/docs/delivery.schema.json"
  }

  private func problems(_ lines: [UInt8]) async throws -> String {
    let run = try await ChildProcess.run("/usr/bin/python3", ["-c", Self.validator, schema], input: lines)
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

  @Test func `the schema refuses what it should`() async throws {
    for line in [
      #"{"delivery":"failure","url":"x","method":"GET"}"#, #"{"delivery":"other","url":"x","method":"GET"}"#,
      #"{"delivery":"failure","url":"x","method":"GET","error":{"kind":"a","message":"b"},"extra":1}"#,
    ] {
      #expect(try await problems(Array((line + "\n").utf8)) != "")
    }
  }
}
