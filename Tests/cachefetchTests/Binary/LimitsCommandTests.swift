import CacheStore
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Command: limits", .inTurn) struct LimitsCommandTests {
  @Test func `limits shows and sets what every process on the store obeys`() async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in try connection.send(.ok(request.path)) }
    for number in 1...5 { _ = try await shell.run("\(origin.url)/\(number)") }
    let shown = try await shell.run("limits")
    #expect(shown.status == 0 && shown.lines.count == 3 && shown.errorText.isEmpty)
    #expect(shown.lines[0].hasPrefix("size     at most 2.1 GB, the default; the file has "))
    #expect(shown.lines[1] == "entries  no limit; 5 stored, 0 of them pinned")
    #expect(shown.lines[2].hasPrefix("age      no limit; the oldest was received "))
    let set = try await shell.run("limits", "--rows", "3", "--older-than", "30d", "--bytes", "10M")
    #expect(set.status == 0 && set.lines.last == "removed  2 entries", "\(set.outputText)")
    #expect(set.lines[1] == "entries  at most 3, set in the store; 3 stored, 0 of them pinned")
    #expect(set.lines[2].hasPrefix("age      at most 30 days, set in the store; "))
    _ = try await shell.run(origin.url + "/6")
    #expect(try await shell.run("list").lines.count == 3)
    // What is not named stays as it is.
    let json = try await shell.run("limits", "--json", "--rows", "none")
    #expect(json.lines.count == 1)
    #expect(
      json.outputText.contains("\"max_bytes\":10485760,\"max_bytes_set\":true,\"max_rows_set\":false,"),
      "\(json.outputText)")
    #expect(json.outputText.contains("\"max_age_ms\":2592000000,\"max_age_set\":true"))
    _ = try await shell.run(origin.url + "/7")
    #expect(try await shell.run("list").lines.count == 4)
    let none = try await shell.run("limits", "--bytes", "none", "--older-than", "none", "--json")
    #expect(none.outputText.contains("\"max_bytes\":2147483648,\"max_bytes_set\":false"))
  }

  /// What a message proposes to type.
  private func proposal(in text: String) throws -> [String] {
    let found = try #require(text.firstMatch(of: #/cachefetch (?<words>limits [^”]*)”/#), "\(text)")
    return found.words.split(separator: " ").map(String.init)
  }

  @Test func `the limit that is proposed for a body suffices, also where its length is not told before`()
    async throws
  {
    let shell = try Shell()
    var reply = FixtureReply.ok(String(repeating: "b", count: 3_000_000))
    reply.chunkSize = 100_000
    let origin = try ChangingOrigin(reply)
    _ = try await shell.run("limits", "--bytes", "1M")
    let refused = try await shell.run("--print", "none", origin.url)
    #expect(try await shell.run("list").lines.isEmpty)
    #expect(try await shell.run(proposal(in: refused.errorText)).status == 0)
    #expect(try await shell.run("--print", "none", origin.url).errorText.isEmpty)
    #expect(try await shell.run("list").lines.count == 1)
  }

  @Test(
    "the limit that is proposed where only pinned entries are left suffices",
    arguments: ["--rows", "--bytes"])
  func beyondPinned(option: String) async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      try connection.send(.ok(String(repeating: "x", count: 1_200_000) + request.path))
    }
    for number in 1...5 {
      _ = try await shell.run("-q", "--print", "none", "--pin", "\(origin.url)/\(number)")
    }
    _ = try await shell.run("limits", option, option == "--rows" ? "2" : "3M")
    let refused = try await shell.run("--print", "none", origin.url + "/new")
    #expect(try await shell.run("list").lines.count == 5)
    #expect(try await shell.run(proposal(in: refused.errorText)).status == 0)
    #expect(try await shell.run("--print", "none", origin.url + "/new").errorText.isEmpty)
    #expect(try await shell.run("list").lines.count == 6)
  }

  @Test func `a watch that runs obeys a limit set meanwhile`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url + "?1")
    _ = try await shell.run(origin.url + "?2")
    let child = try shell.start("watch", "--every", "20ms", origin.url + "?3")
    await origin.server.waitForRequests(3)
    // The answer is stored before the next is asked for.
    await origin.server.waitForRequests(4)
    #expect(try await shell.run("list").lines.count == 3)
    #expect(try await shell.run("limits", "--rows", "1").lines.last == "removed  2 entries")
    child.send(2)
    _ = await child.finished()
    let other = try await shell.run("preload", origin.url + "?4", origin.url + "?5")
    // One of the two had to make room for the other.
    #expect(other.status == 4, "\(other.errorText)")
    let said = other.errorText
    #expect(said.ranges(of: "missing, removed to make room: ").count == 1, "\(said)")
    #expect(said.contains(" limits --bytes SIZE or --rows N, or request less"), "\(said)")
    #expect(try await shell.run("list").lines.count == 1)
  }

  @Test(
    "what keeps a response from being stored names it and a command that helps as it is typed",
    arguments: [
      ("a large body", ["--bytes", "1M"], "/big?token=s", "larger than half the limit of the store"),
      ("pinned entries", ["--rows", "1"], "/a", "may hold 1 entry, and that many are pinned"),
      ("pinned variants", [], "/vary", "all 16 stored variants of this request are pinned"),
      ("variants of a secret", [], "/vary?token=s", "all 16 stored variants of this request are pinned"),
    ] as [(String, [String], String, String)])
  func remedy(of name: String, limits: [String], path: String, message: String) async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      let body = String(repeating: "x", count: request.path == "/big" ? 700_000 : 1)
      try connection.send(.ok(body, request.path == "/vary" ? ["Vary": "X-N"] : [:]).chunked())
    }
    let store = ["--store", "store.sqlite"]
    if !limits.isEmpty { #expect(try await shell.run(["limits"] + store + limits).status == 0) }
    let pinned = path.hasPrefix("/vary") ? (1...16).map { ["-H", "X-N: \($0)", origin.url + path] } : []
    for words in path == "/a" ? [[origin.url + "/first"]] : pinned {
      #expect(try await shell.run(["--pin", "-q"] + store + words).status == 0)
    }
    let refused = try await shell.run(["--print", "none"] + store + [origin.url + path])
    let lines = refused.errorText.split(separator: "\n")
    #expect(lines.count == 1 && refused.errorText.contains(message), "\(name): \(refused.errorText)")
    let url = path == "/a" ? "the store " : origin.url + path.prefix { $0 != "=" }
    #expect(refused.errorText.hasPrefix("cachefetch: \(url)"), "\(name): \(refused.errorText)")
    let command = try #require(refused.errorText.split(separator: "“cachefetch ").last?.prefix { $0 != "”" })
    let typed = try await ChildProcess.run(
      "/bin/sh",
      ["-c", "\"$0\" \(command)\(command.hasPrefix("rm") ? " --yes" : "")", BuiltProduct.cachefetch()],
      environment: shell.environment, directory: shell.store.folder.path)
    #expect(typed.status == 0 && !typed.errorText.contains("no stored"), "\(command): \(typed.errorText)")
    let after = try await shell.run(["--print", "none"] + store + [origin.url + path])
    #expect(after.status == 0 && after.errorText.isEmpty, "\(name): \(after.errorText)")
  }

  @Test func `a limit that keeps nothing is refused, and a store can be given limits before it has anything`()
    async throws
  {
    let shell = try Shell()
    for words in [
      ["--bytes", "3k"], ["--bytes", "1048575"], ["--rows", "0"], ["--older-than", "0s"], ["--rows", "many"],
      ["--bytes", "None"],
    ] {
      let run = try await shell.run(["limits"] + words)
      #expect(run.status == 64 && run.errorText.contains(words[0]), "\(run.errorText)")
    }
    #expect(try await shell.run("list", "--older-than", "none").status == 64)
    #expect(try shell.store.folder.names().isEmpty)
    #expect(try await shell.run("limits", "--rows", "2").status == 0)
    #expect(try await shell.run("limits", "--older-than", "1s").status == 0, "a second is the least")
    #expect(try await shell.run("limits", "--bytes", "1M").status == 0, "a mebibyte is the least")
    #expect(try await shell.run("limits", "--older-than", "none").status == 0)
    #expect(
      try await shell.run("limits").lines[1]
        == "entries  at most 2, set in the store; 0 stored, 0 of them pinned")
  }
}
