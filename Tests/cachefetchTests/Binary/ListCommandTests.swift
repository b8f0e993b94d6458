import CacheStore
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Command: list", .inTurn) struct ListCommandTests {
  @Test func `each filter selects its rows`() async throws {
    let (shell, origin) = try await Shell.filled()
    #expect(try await shell.listed() == ["/a", "/b", "/c"])
    #expect(try await shell.listed("--account", "alice") == ["/a"])
    #expect(try await shell.listed("--tag", "news") == ["/b"])
    #expect(try await shell.listed("--stale") == ["/b"])
    #expect(try await shell.listed("--larger-than", "4k") == ["/c"])
    #expect(try await shell.listed("--prefix", origin.url + "/b") == ["/b"])
    #expect(try await shell.listed("--host", "127.0.0.1:\(origin.port)") == ["/a", "/b", "/c"])
    #expect(try await shell.listed("--host", "example.com") == [])
    #expect(try await shell.listed("--older-than", "1h") == [])
    #expect(try await shell.listed("--sort", "size").last == "/c")
    #expect(try await shell.listed("--sort", "age").first == "/c")
  }

  /// Makes a row as old as that, as if its response had arrived then.
  private func age(_ store: ResponseStore, _ path: String, by age: Duration) async throws {
    let entry = try #require(try await store.entries().first { $0.key.target.hasSuffix(path) })
    let row = entry.response
    let received = row.receivedAt - age.components.seconds * 1_000
    var head = row.head
    head.requestedAt = received
    head.receivedAt = received
    #expect(try await store.freshen(.init(rowID: entry.rowID, body: row.body, head: head)).isStored)
  }

  @Test
  func `a list in a pipe is lines of tabs with time, size, status, state, account, URL, options and tags`()
    async throws
  {
    let (shell, origin) = try await Shell.filled()
    _ = try await shell.run("--read", "-d", "q=1", origin.url + "/d")
    let store = ResponseStore(configuration: .unhurried(path: shell.store.path))
    let hour = 3_600
    for (path, seconds) in [("/a", 48 * hour), ("/b", 3 * hour), ("/c", 5 * hour), ("/d", 90 * 24 * hour)] {
      try await age(store, path, by: .seconds(seconds))
    }
    await store.close()
    let run = try await shell.run("list")
    let lines = run.lines
    let cells = lines.map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
    #expect(lines.count == 4 && run.errorText.isEmpty)
    #expect(cells[0].dropFirst() == ["2", "200", "fresh", "alice", "\(origin.url)/a", "", ""])
    #expect(cells[1].dropFirst() == ["2", "200", "stale", "", "\(origin.url)/b", "", "#news"])
    #expect(cells[2].dropFirst() == ["5000", "200", "fresh pinned", "", "\(origin.url)/c", "", ""])
    #expect(
      cells[3][2...5] == ["200", "stale", "", "\(origin.url)/d"] && cells[3][6].hasPrefix("-X POST -d "))
    for line in cells {
      #expect(line[0].wholeMatch(of: /2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil, "\(line)")
    }
    _ = try await shell.run("-u", "a:b", origin.url + "/c")
    // What is shown of an account in a pipe is what --account takes.
    let last = try #require(try await shell.run("list", "--prefix", origin.url + "/c").lines.last)
    let account = last.split(separator: "\t", omittingEmptySubsequences: false)[4]
    #expect(account.hasPrefix("auto:"))
    #expect(try await shell.listed("--account", String(account)) == ["/c"])
  }

  @Test func `list can be limited, reversed, and selected by status and media type`() async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      let type = request.path == "/a" ? "image/png" : "text/html; charset=utf-8"
      try connection.send(
        FixtureReply(
          status: request.path == "/c" ? 203 : 200, fields: ["Content-Type": type], body: Array("x".utf8)))
    }
    for path in ["/a", "/b", "/c"] { _ = try await shell.run(origin.url + path) }
    #expect(try await shell.listed("--reverse") == ["/c", "/b", "/a"])
    #expect(try await shell.listed("--limit", "2") == ["/a", "/b"])
    #expect(try await shell.listed("--reverse", "--limit", "1") == ["/c"])
    #expect(try await shell.listed("--status", "203") == ["/c"])
    #expect(try await shell.listed("--status", "2xx").count == 3)
    #expect(try await shell.listed("--status", "201-299") == ["/c"])
    #expect(try await shell.listed("--status", "404") == [])
    #expect(try await shell.listed("--type", "image/*") == ["/a"])
    #expect(try await shell.listed("--type", "Text/HTML") == ["/b", "/c"])
    #expect(try await shell.listed("--type", "text/plain") == [])
    for words in [["--status", "20"], ["--status", "299-200"], ["--type", "html"], ["--limit", "0"]] {
      #expect(try await shell.run(["list"] + words).status == 64, "\(words)")
    }
    #expect(try await shell.run("rm", "--yes", "--type", "text/html").errorText == "removed 2 entries\n")
    #expect(try await shell.listed() == ["/a"])
  }

  @Test func `an age is shown as it was set`() async throws {
    let shell = try Shell()
    for (given, shown) in [
      ("90d", "90 days"), ("36h", "36 hours"), ("1d", "1 day"), ("3600", "1 hour"), ("90s", "90 seconds"),
      ("400d", "400 days"), ("1500ms", "1500 ms"),
    ] {
      let run = try await shell.run("limits", "--older-than", given)
      #expect(run.lines[2] == "age      at most \(shown), set in the store; nothing is stored", "\(given)")
    }
  }

  @Test func `a host without a port means all its ports`() async throws {
    let (shell, origin) = try await Shell.filled()
    let port = try #require(origin.url.split(separator: ":").last)
    #expect(try await shell.run("list", "--host", "127.0.0.1").lines.count == 3)
    #expect(try await shell.run("list", "--host", "127.0.0.1:\(port)").lines.count == 3)
    for other in ["127.0.0.1:\(port)0", "127.0.0", "127.0.0.1:80"] {
      #expect(try await shell.run("list", "--host", other).output.isEmpty)
    }
  }
}
