import FixtureServer
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// The laws through the built command, against a real origin on loopback. Laws 1, 7 and 8 have suites of their own.
@Suite("Laws, through the command", .inTurn) struct CommandLawTests {
  private struct Line: Decodable, Equatable {
    var delivery: String
    var body: String?
    var kept: Bool?
  }

  private func lines(_ run: ChildProcess.Finished) throws -> [Line] {
    try run.lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
  }

  /// The row and its bytes, past the code under test.
  private func raw(_ shell: Shell) throws -> [[SQLiteValue]] {
    try shell.store.rows("SELECT * FROM last_request") + shell.store.rows("SELECT * FROM chunk")
  }

  @Test func `law 2: one stored, then one fresh or one failure, and nothing after it`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    #expect(try lines(try await shell.run("--json", origin.url)).map(\.delivery) == ["fresh"])
    origin.answer(.ok("two"))
    let both = try lines(try await shell.run("--json", origin.url))
    #expect(both.map(\.delivery) == ["stored", "fresh"] && both.map(\.body) == ["one", "two"])
    origin.server.stop()
    let down = try lines(try await shell.run("--json", "--retry", "0", origin.url))
    #expect(down.map(\.delivery) == ["stored", "failure"])
  }

  @Test func `law 4: what was delivered as kept survives a kill at the next instruction`() async throws {
    let shell = try Shell()
    var survivals = 0
    for round in 1...20 where survivals < 5 {
      let body = "body \(round)"
      let origin = try FixtureServer { request, connection in
        // The second load never ends by itself: the process is killed in the middle of it.
        if request.path == "/never" { return connection.waitForPeerClose() }
        try connection.send(.ok(body))
      }
      let child = try shell.start("--json", origin.url + "/x", origin.url + "/never")
      #expect(await child.output.waits(for: "\"kept\":"))
      child.send(SIGKILL)
      #expect(await child.finished().exit == .signal(SIGKILL))
      // A commit that takes longer than 250 ms, as on a disk that is busy with others, is not waited for, and said so.
      if child.output.text.contains("\"kept_reason\":\"busy\"") { continue }
      #expect(child.output.text.contains("\"kept\":true"), "\(child.output.text)")
      #expect(try await shell.run("--offline", origin.url + "/x").outputText == body)
      survivals += 1
    }
    #expect(survivals == 5)
  }

  struct Failure: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let answer: @Sendable (FixtureConnection) throws -> Void

    init(_ name: String, _ answer: @escaping @Sendable (FixtureConnection) throws -> Void) {
      (testDescription, self.answer) = (name, answer)
    }
  }

  static let failures: [Failure] = [
    Failure("no answer", { $0.reset() }), Failure("408", { try $0.send(.status(408, "busy")) }),
    Failure("429", { try $0.send(.status(429, "busy")) }),
    Failure("500", { try $0.send(.status(500, "broken")) }),
    Failure("503", { try $0.send(.status(503, "broken")) }),
    Failure("403", { try $0.send(.status(403, "no")) }),
    Failure("an unasked 206", { try $0.send(.status(206, "part")) }),
    Failure("a malformed head", { try $0.sendRaw("HTTP/1.1 two hundred\r\n\r\n") }),
    Failure("too large", { try $0.send(.ok([UInt8](repeating: 0x61, count: 20_000))) }),
    Failure(
      "truncated",
      {
        try $0.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        $0.close()
      }),
    Failure(
      "a chunk cut off",
      {
        try $0.sendRaw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nhalf")
        $0.reset()
      }),
  ]

  @Test("law 5: a failed refresh changes nothing", arguments: failures)
  func failedRefresh(failure: Failure) async throws {
    let shell = try Shell()
    let isSeeded = Gate()
    let origin = try FixtureServer { _, connection in
      if isSeeded.isOpen {
        try failure.answer(connection)
      } else {
        try connection.send(.ok("good", ["ETag": "\"1\""]))
      }
    }
    let url = origin.url + "/x"
    #expect(try await shell.run(url).status == 0)
    let before = try raw(shell)
    isSeeded.open()
    let run = try await shell.run("--retry", "0", "--connect-timeout", "1h", "--max-body", "10k", url)
    let status: Int32 = failure.testDescription == "403" ? 0 : 3
    #expect(run.outputText.hasPrefix("good") && run.status == status, "\(run.errorText)")
    #expect(try raw(shell) == before)
    #expect(try await shell.run("--offline", url).outputText == "good")
  }

  @Test func `law 6: however often it is overwritten, a key has one row and one body`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    for round in 1...6 {
      origin.answer(.ok(String(repeating: "\(round)", count: round * 1_000), ["ETag": "\"\(round)\""]))
      #expect(try await shell.run(origin.url).status == 0)
    }
    #expect(try shell.store.value("SELECT count(*) FROM last_request") == 1)
    #expect(try shell.store.value("SELECT count(*) FROM body") == 1)
    #expect(try await shell.run("--offline", origin.url).outputText == String(repeating: "6", count: 6_000))
  }

  @Test func `law 9: without network and without store each does what it can; only both leave nothing`()
    async throws
  {
    var shell = try Shell()
    let origin = try ChangingOrigin()
    #expect(try await shell.run(origin.url).status == 0)
    origin.server.stop()
    let stored = try await shell.run("--retry", "0", origin.url)
    #expect(stored.outputText == "one" && stored.status == 3)
    try origin.server.start()
    shell.environment["CACHEFETCH_STORE"] = shell.store.folder.path
    let fresh = try await shell.run(origin.url)
    #expect(fresh.outputText == "one" && fresh.status == 0 && fresh.errorText.contains("is a folder"))
    origin.server.stop()
    let nothing = try await shell.run("--retry", "0", origin.url)
    #expect(nothing.output.isEmpty && nothing.status == 4)
    #expect(nothing.errorText.contains("is a folder") && nothing.errorText.contains("refused"))
  }

  @Test func `law 10: a damaged row is not delivered, is said, and is replaced by the next answer`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    try shell.store.execute("UPDATE chunk SET bytes = x'6F6E66'")
    origin.answer(.ok("two"))
    let run = try await shell.run(origin.url)
    #expect(run.outputText == "two" && run.status == 0 && run.errorText.contains("checksum"))
    #expect(try await shell.run("--offline", origin.url).outputText == "two")
    try shell.store.execute("UPDATE last_request SET status = 201")
    let offline = try await shell.run("--offline", origin.url)
    #expect(offline.output.isEmpty && offline.status == 4)
  }

  @Test func `law 11: after an interrupt nothing more is printed, and the row is as it was`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let before = try raw(shell)
    let mayAnswer = origin.hold()
    origin.answer(.ok("two", ["ETag": "\"2\""]))
    let child = try shell.start(origin.url)
    await origin.server.waitForRequests(2)
    await child.output.waits(forBytes: 3)
    child.send(SIGINT)
    let finished = await child.finished()
    mayAnswer.open()
    #expect(finished.outputText == "one" && finished.status == 130)
    #expect(try raw(shell) == before)
  }

  @Test func `law 12: no-store on request, answer or a hop between leaves no byte in any file`() async throws
  {
    let shell = try Shell()
    let marker = "MARKER-9b1d"
    let origin = try FixtureServer(routes: [
      "/answer": .ok(marker, ["Cache-Control": "no-store", "X-Mark": marker]), "/plain": .ok(marker),
      "/hop": .redirect(to: "/plain", ["Cache-Control": "no-store"]),
    ])
    for words in [["/answer"], ["/hop"], ["/plain", "-H", "Cache-Control: no-store"]] {
      let run = try await shell.run([origin.url + words[0]] + words.dropFirst())
      #expect(run.outputText == marker && run.status == 0, "\(words)")
    }
    #expect(try !shell.store.filesContain(marker))
    #expect(try await shell.run("--keep-anyway", origin.url + "/answer").outputText == marker)
    #expect(try shell.store.filesContain(marker), "the caller asked for it")
  }
}
