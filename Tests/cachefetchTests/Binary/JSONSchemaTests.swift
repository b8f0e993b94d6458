import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Command: the JSON schema", .inTurn) struct JSONSchemaTests {
  /// Some lines of JSON, and the schema in the repository's docs that they are judged by.
  private struct Check: Encodable {
    var lines: String
    var schema = "delivery"
    /// The one of the schema's definitions that is meant; all of it where there is none.
    var verb: String?

    init(_ lines: [UInt8], schema: String = "delivery", verb: String? = nil) {
      (self.lines, self.schema, self.verb) = (String(decoding: lines, as: UTF8.self), schema, verb)
    }
  }

  /// Says for each check in an array what is wrong.
  private static let validator = #"""
    import json, sys
    from jsonschema import Draft202012Validator
    (found, schemas) = ([], {})
    for check in json.load(sys.stdin):
        name = check["schema"]
        if name not in schemas:
            schemas[name] = json.load(open(sys.argv[1] + name + ".schema.json"))
            Draft202012Validator.check_schema(schemas[name])
        schema = schemas[name]
        if check.get("verb"):
            schema = {"$ref": "#/$defs/" + check["verb"], "$defs": schema["$defs"]}
        validator = Draft202012Validator(schema)
        lines = [line for line in check["lines"].split("\n") if line]
        found.append("\n".join(
            error.message + " in " + line for line in lines for error in validator.iter_errors(json.loads(line))))
    json.dump(found, sys.stdout)
    """#

  /// What is wrong with the lines of each check. All in one process: its start takes most of the time.
  private func problems(_ checks: [Check]) async throws -> [String] {
    let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    let run = try await ChildProcess.run(
      "/usr/bin/python3", ["-c", Self.validator, "\(root)/docs/"],
      input: [UInt8](try JSONEncoder().encode(checks)))
    try #require(run.status == 0, "\(run.errorText)")
    return try JSONDecoder().decode([String].self, from: Data(run.output))
  }

  @Test func `the line for serve`() async throws {
    try await expect(
      Array(ServeRequestTests.everyMember.utf8), satisfy: "serve",
      notSatisfiedBy: #"{"url": "x", "nonsense": 1}"#)
  }

  /// Expects that there is nothing wrong with some lines, and that there is with another.
  private func expect(
    _ lines: [UInt8], satisfy schema: String = "delivery", notSatisfiedBy other: String? = nil
  ) async throws {
    let checks =
      [Check(lines, schema: schema)] + (other.map { [Check(Array($0.utf8), schema: schema)] } ?? [])
    let found = try await problems(checks)
    #expect(found[0] == "")
    if other != nil { #expect(found[1] != "", "the schema \(schema) refuses nothing") }
  }

  @Test func `every reason and kind that the library has stands in the schema`() throws {
    let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
    func text(_ path: String) throws -> String {
      try String(contentsOfFile: "\(root)/\(path)", encoding: .utf8)
    }
    let schema = try text("docs/delivery.schema.json")
    for (file, count) in [("Values/Kept", 17), ("Values/DataServiceError", 20)] {
      let names = try text("Sources/DataService/\(file).swift").matches(
        of: #/= (?:Kind|KeptReason|Self)\("(?<name>[A-Za-z?]+)"\)/#
      ).map { String($0.name) }
      #expect(names.count >= count, "\(file)")
      for name in names { #expect(schema.contains("\"\(name)\""), "\(name)") }
    }
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
    try await expect(lines)
  }

  @Test func `what watch says of changes, an outage and its end satisfies it`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let child = try shell.start(
      "watch", "--json", "--retry", "0", "--connect-timeout", "1h", "--every", "20ms", origin.url)
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
    try await expect(lines)
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
    lines += try await shell.run(
      "preload", "--json", "--retry", "0", "--on-failure", "fail", "--parallel", "1", origin.url,
      origin.url + "2"
    ).output
    #expect(lines.split(separator: 0x0A).count == 7)
    try await expect(
      lines, satisfy: "preload",
      notSatisfiedBy: #"{"delivery":"failure","url":"x"}"#)
  }

  @Test func `what diff says satisfies its own`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one\n"))
    var lines: [UInt8] = []
    func diff(_ status: Int32, _ result: String, _ words: String...) async throws {
      let run = try await shell.run(
        ["diff", "--json", "--retry", "0", "--connect-timeout", "1h"] + words + [origin.url])
      #expect(
        run.status == status && run.outputText.contains("\"result\":\"\(result)\""), "\(run.outputText)")
      #expect(run.lines.count == 1)
      lines += run.output
    }
    try await diff(0, "first")
    try await diff(0, "same")
    origin.answer(.ok("two\n"))
    try await diff(1, "different")
    origin.answer(.ok(#"{"a":[1,{"b":null}],"t":1}"#))
    try await diff(1, "different")
    origin.answer(.ok(#"{"a":[1.0,{"c":"\u001b"}],"t":2}"#))
    try await diff(1, "different", "--ignore-path", "/t")
    #expect(
      String(decoding: lines, as: UTF8.self).contains(
        #""changes":[{"path":"/a/1/b","old":null},{"path":"/a/1/c","new":"\u001b"}]"#))
    origin.answer(.ok([0, 1]))
    try await diff(1, "different")
    origin.answer(.status(404, "gone"))
    try await diff(1, "different")
    origin.answer(.status(503, "busy"))
    try await diff(3, "failure")
    _ = try await shell.run("rm", "--yes", "--older-than", "0s")
    origin.answer(.ok("private", ["Cache-Control": "no-store"]))
    try await diff(4, "first")
    origin.server.stop()
    try await diff(4, "failure")
    try await expect(
      lines, satisfy: "diff",
      notSatisfiedBy: #"{"url":"x","method":"GET","result":"failure"}"#)
  }

  @Test func `what export and import say satisfies their own`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    for words in [[], ["--account", "alice"], ["-u", "a:b"]] { _ = try await shell.run(words + [origin.url]) }
    var lines = try await shell.run("export", "--json", "copy.cfx").output
    lines += try await shell.run("import", "--json", "copy.cfx").output
    _ = try await shell.run(origin.url)
    lines += try await shell.run("import", "--json", "copy.cfx").output
    #expect(lines.split(separator: 0x0A).count == 3)
    #expect(String(decoding: lines, as: UTF8.self).contains(#"{"reason":"older","responses":1}"#))
    try await expect(
      lines, satisfy: "bundles",
      notSatisfiedBy: #"{"verb":"export","file":"x","responses":-1,"left_out":[]}"#)
  }

  @Test func `what stats says satisfies its own`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    _ = try await shell.run("-u", "a:b", origin.url)
    _ = try await shell.run("--key", "own", origin.url)
    let lines = try await shell.run("stats", "--json").output
    #expect(lines.split(separator: 0x0A).count >= 2)
    try await expect(
      lines, satisfy: "stats",
      notSatisfiedBy: #"{"account":"","host":"x"}"#)
  }

  @Test func `what the verbs that look after the store say satisfies theirs`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("x", ["ETag": "\"1\"", "Vary": "Accept-Language"]))
    _ = try await shell.run("--tag", "t", "--pin", "-H", "Accept-Language: de", origin.url)
    _ = try await shell.run("--account", "alice", origin.url)
    _ = try await shell.run("-q", "--no-location", "-u", "a:b", origin.url + "?token=y")
    _ = try await shell.run("--key", "own", origin.url)
    let runs = [
      ("list", ["list"]), ("explain", ["explain", origin.url]),
      ("explain", ["explain", "--max-age", "1h", "http://a/"]),
      ("doctor", ["doctor"]), ("limits", ["limits"]),
      ("limits", ["limits", "--rows", "100", "--older-than", "1h"]),
      ("unmark", ["unmark", "--pin", origin.url]), ("unmark", ["unmark", "--tag", "t"]),
      ("unmark", ["unmark", "--pin", "--tag", "t", "--tag", "u", origin.url]),
      ("sign-out", ["sign-out", "--account", "alice"]), ("rm", ["rm", "key:own"]),
      ("rm", ["rm", "key:none"]),
    ]
    var (satisfying, refused): ([Check], [Check]) = ([], [])
    for (verb, words) in runs {
      let run = try await shell.run(words + ["--json"])
      #expect(run.status == 0 && !run.output.isEmpty, "\(words): \(run.errorText)")
      satisfying += [
        Check(run.output, schema: "store", verb: verb), Check(run.output, schema: "store"),
      ]
      refused.append(Check(Array(#"{"other":1}"#.utf8), schema: "store", verb: verb))
    }
    let shown = try await shell.run("show", "--json", "-H", "Accept-Language: de", origin.url)
    #expect(shown.lines.count == 1 && shown.outputText.hasPrefix("{\"delivery\":\"stored\""))
    let missing = try await shell.run("show", "--json", origin.url + "/none")
    #expect(missing.status == 4)
    satisfying += [Check(shown.output), Check(missing.output)]
    let found = try await problems(satisfying + refused)
    #expect(found.count == satisfying.count + refused.count)
    for (check, problem) in zip(satisfying + refused, found) {
      let isRefused = check.lines == #"{"other":1}"#
      #expect(problem.isEmpty != isRefused, "\(check.lines) by \(check.verb ?? check.schema): \(problem)")
    }
  }

  @Test func `counts of what went are on standard output with --json, and nothing else is`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    for account in ["alice", "bob"] {
      for query in ["?1", "?2"] { _ = try await shell.run("--account", account, origin.url + query) }
    }
    let rm = try await shell.run("rm", "--json", "--yes", "--account", "alice")
    #expect(rm.outputText == "{\"removed\":2}\n" && rm.errorText.isEmpty)
    let out = try await shell.run("sign-out", "--json", "--yes", "--account", "bob")
    #expect(out.outputText == "{\"account\":\"bob\",\"removed\":2}\n" && out.errorText.isEmpty)
  }

  @Test func `the schema refuses what it should`() async throws {
    let lines = [
      #"{"delivery":"failure","url":"x","method":"GET"}"#, #"{"delivery":"other","url":"x","method":"GET"}"#,
      #"{"delivery":"failure","url":"x","method":"GET","error":{"kind":"a","message":"b"},"extra":1}"#,
    ]
    let found = try await problems(lines.map { Check(Array($0.utf8)) })
    for (line, problem) in zip(lines, found) { #expect(problem != "", "\(line)") }
  }
}
