import FixtureServer
import TestSupport
import Testing
import TestTurns

@Suite("Command: which entries are meant", .inTurn) struct SelectionTests {
  @Test func `rm --exact removes what show prints with the same options, and no other entry of the URL`()
    async throws
  {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      try connection.send(.ok(request["Authorization"] ?? "x", ["Vary": "Accept-Language"]))
    }
    let url = origin.url + "/b"
    let ways: [[String]] = [
      [], ["--account", "alice"], ["--no-location", "--account", "alice"], ["--no-location"],
      ["--resolve", "localhost:1:127.0.0.1"], ["--key", "own"], ["--no-location", "--key", "own"],
    ]
    for way in ways { #expect(try await shell.run(["-q"] + way + [url]).status == 0, "\(way)") }
    for (index, way) in ways.enumerated() {
      #expect(try await shell.run(["show"] + way + [url]).status == 0, "\(way)")
      let run = try await shell.run(["rm", "--exact"] + way + [url])
      #expect(run.status == 0 && run.errorText == "removed 1 entry\n", "\(way): \(run.errorText)")
      #expect(try await shell.run(["show"] + way + [url]).status == 4, "\(way)")
      #expect(try await shell.run("list").lines.count == ways.count - index - 1, "\(index), \(way)")
    }
    // Its variants go with it; without a URL there is nothing to be exact about.
    for language in ["de", "en"] { _ = try await shell.run("-H", "Accept-Language: \(language)", url) }
    _ = try await shell.run("-q", "--no-location", url)
    #expect(try await shell.run("rm", "--yes", "--exact", url).errorText == "removed 2 entries\n")
    #expect(try await shell.run("rm", "--exact").status == 64)
    #expect(try await shell.run("list").lines.map { $0.contains("/b\t--no-location\t") } == [true])
  }

  @Test(
    "What is answered from the store is tagged and pinned too",
    arguments: [
      ["--max-age", "1h", "--tag", "night", "--pin"], ["--policy", "http", "--tag", "night", "--pin"],
      ["preload", "--max-age", "1h", "--tag", "night", "--pin"], ["preload", "--pin", "plan.json"],
    ])
  func taggedWithoutAsking(words: [String]) async throws {
    let shell = try Shell()
    let origin = try FixtureServer { _, connection in
      try connection.send(.ok("one", ["Cache-Control": "max-age=3600"]))
    }
    #expect(try await shell.run("--tag", "day", origin.url).status == 0)
    let isPlan = words.contains("plan.json")
    try shell.store.folder.write(
      #"{"max_age_ms": 3600000, "steps": [{"url": "\#(origin.url)", "tags": ["night"]}]}"#,
      to: "plan.json")
    let run = try await shell.run(words + (isPlan ? [] : [origin.url]))
    #expect(run.status == 0, "\(run.errorText)")
    #expect(origin.requests().count == 1)
    for tag in ["day", "night"] {
      #expect(try await shell.run("list", "--tag", tag).lines.count == 1, "\(tag)")
    }
    #expect(try await shell.run("list").outputText.contains("pinned"))
  }

  @Test func `rm's connection options mean what was typed, not what the environment adds`() async throws {
    var shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run("--resolve", "localhost:1:127.0.0.1", origin.url)
    try shell.store.folder.write("a certificate", to: "a.pem")
    shell.environment["SSL_CERT_FILE"] = shell.file("a.pem")
    let run = try await shell.run("rm", "--resolve", "localhost:1:127.0.0.1", origin.url)
    #expect(run.errorText == "removed 1 entry\n")
  }

  @Test func `a host that is not in ASCII selects the entries that are stored under its encoded form`()
    async throws
  {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let resolve = "bücher.example:\(origin.server.port):127.0.0.1"
    let url = "http://bücher.example:\(origin.server.port)/x"
    #expect(try await shell.run("--resolve", resolve, url).outputText == "one")
    for words in [
      ["--host", "bücher.example"], ["--host", "BÜCHER.example:\(origin.server.port)"], ["--prefix", url],
      ["--prefix", "http://bücher.example"],
    ] {
      #expect(try await shell.run(["list"] + words).lines.count == 1, "\(words)")
    }
    #expect(try await shell.run("list", "--host", "büche.example").lines.isEmpty)
    #expect(try await shell.run("list", "--host", "-ü").status == 64)
    #expect(try await shell.run("rm", "--resolve", resolve, url).errorText == "removed 1 entry\n")
  }
}
