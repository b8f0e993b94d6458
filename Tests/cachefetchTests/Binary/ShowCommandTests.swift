import CacheStore
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Command: show", .inTurn) struct ShowCommandTests {
  @Test func `show writes the stored bytes, with the head under -i, and 4 where nothing is stored`()
    async throws
  {
    let (shell, origin) = try await Shell.filled()
    origin.stop()
    #expect(try await shell.run("show", origin.url + "/b").outputText == "/b")
    #expect(try await shell.run("show", "-i", origin.url + "/b").outputText.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(try await shell.run("show", origin.url + "/a").status == 4)
    #expect(try await shell.run("show", "--account", "alice", origin.url + "/a").outputText == "/a")
  }

  @Test(arguments: [["show"], ["--offline"], ["--policy", "stored-only"]])
  func `of a response that other headers or another body would find it says so`(verb: [String]) async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      try connection.send(.ok("x", request.path == "/vary" ? ["Vary": "Accept-Language"] : [:]))
    }
    _ = try await shell.run("-q", "-H", "Accept-Language: de", origin.url + "/vary")
    let vary = try await shell.run(verb + [origin.url + "/vary"])
    #expect(vary.status == 4)
    #expect(
      vary.errorText.contains(
        "it is stored for other request headers (Vary: accept-language): ask with -H 'accept-language: de'\n"),
      "\(vary.errorText)")
    #expect(
      try await shell.run(verb + ["-H", "Accept-Language: de", origin.url + "/vary"]).outputText == "x")
    _ = try await shell.run("-q", origin.url + "/vary?none")
    #expect(
      try await shell.run(verb + ["-H", "Accept-Language: de", origin.url + "/vary?none"]).errorText.contains(
        "(Vary: accept-language): ask without accept-language\n"))
    _ = try await shell.run("-q", "-X", "POST", "--read", "-d", "q", origin.url + "/post")
    let body = try await shell.run(verb + [origin.url + "/post"])
    #expect(body.status == 4)
    #expect(body.errorText.contains("ask with the same -d, -X and --read"), "\(body.errorText)")
    #expect(
      try await shell.run(verb + ["-X", "POST", "--read", "-d", "q", origin.url + "/post"]).outputText == "x")
  }

  @Test func `of several URLs each is said by its name, and what is stored nowhere is not`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let urls = ["?1", "?2", "?3", "?4"].map { origin.url + $0 }
    _ = try await shell.run("-q", "--account", "alice", urls[0])
    _ = try await shell.run("-q", "--no-location", urls[1])
    for user in ["a:geheim", "b:geheim"] { _ = try await shell.run("-q", "-u", user, urls[3]) }
    let run = try await shell.run(["--offline"] + urls)
    #expect(run.status == 4)
    let hints = run.errorText.split(separator: "\n").filter { $0.contains("it is stored for other requests") }
    #expect(
      hints == [
        "cachefetch: \(urls[0]): it is stored for other requests: ask with --account alice",
        "cachefetch: \(urls[1]): it is stored for other requests: ask with --no-location",
        "cachefetch: \(urls[3]): it is stored for other requests: ask with the same credentials; "
          + "what is fetched with --account NAME is found with any credentials",
      ])
    #expect(try await shell.run(["-q", "--offline"] + urls).errors.isEmpty)
  }

  @Test func `no digest is offered to be typed`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("x", ["Vary": "X-Tenant"]))
    _ = try await shell.run("-q", "-H", "X-Tenant: alice", origin.url)
    let run = try await shell.run("show", origin.url)
    #expect(
      run.status == 4 && run.errorText.contains("(Vary: x-tenant): ask with the same -H\n"),
      "\(run.errorText)")
  }

  @Test func `a store that was named and is not there is said, and is 74`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let verbs = [
      ["list"], ["limits"], ["show", origin.url], ["rm", origin.url],
      ["unmark", "--pin", origin.url], ["unmark", "--tag", "x"],
      ["sign-out", "--account", "x"], ["explain", origin.url], ["explain", "--json", origin.url],
    ]
    for words in verbs {
      // By the variable, and by the option.
      for (extra, name) in [([], shell.store.path), (["--store", "typo.sqlite"], "typo.sqlite")] {
        let run = try await shell.run(words + extra)
        #expect(run.status == 74 && run.output.isEmpty, "\(words)")
        #expect(run.errorText.contains("there is no store at \(name)"), "\(run.errorText)")
      }
    }
    // On a new machine nothing is wrong yet.
    for (extra, name) in [([], shell.store.path), (["--store", "typo.sqlite"], "typo.sqlite")] {
      let doctor = try await shell.run(["doctor"] + extra)
      #expect(
        doctor.status == 0 && doctor.outputText.contains("fine   file: there is no store at \(name) yet\n"),
        "\(doctor.outputText)")
      let stats = try await shell.run(["stats"] + extra)
      #expect(stats.status == 0 && stats.outputText.hasPrefix("entries  0, "), "\(stats.outputText)")
      #expect(stats.errorText.contains("there is no store at \(name)"), "\(stats.errorText)")
      let json = try await shell.run(["stats", "-q", "--json"] + extra)
      #expect(json.status == 0 && json.errors.isEmpty)
    }
    #expect(try shell.store.folder.names().isEmpty)
    // The default place may have none yet.
    var other = shell
    other.environment["CACHEFETCH_STORE"] = String?.none
    other.environment["XDG_CACHE_HOME"] = shell.file("cache")
    let list = try await other.run("list")
    #expect(list.status == 0 && list.errorText == "cachefetch: nothing is stored\n")
    for words in [["stats"], ["limits"], ["rm", "--stale"], ["doctor"], ["sign-out", "--account", "x"]] {
      #expect(try await other.run(words).status == 0, "\(words)")
    }
  }
}
