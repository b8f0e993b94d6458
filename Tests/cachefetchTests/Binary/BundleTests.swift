import FixtureServer
import TestSupport
import Testing

@Suite("Command: export and import", .timeLimit(.minutes(1))) struct BundleTests {
  /// Two rows without credentials, one long, one of alice, one with a password.
  private func filled() async throws -> (shell: Shell, origin: FixtureServer) {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      let long = [UInt8](repeating: 0x6C, count: 700_000)
      try connection.send(request.path == "/long" ? .ok(long) : .ok(request.path))
    }
    _ = try await shell.run("--tag", "demo", origin.url + "/a", origin.url + "/long")
    _ = try await shell.run("--account", "alice", origin.url + "/alice")
    _ = try await shell.run("-u", "bob:geheim", origin.url + "/bob")
    return (shell, origin)
  }

  @Test func `what is exported is read in another place, without a network`() async throws {
    let (shell, origin) = try await filled()
    let run = try await shell.run("export", "demo.cfx")
    #expect(run.status == 0 && run.errorText == "exported 2 stored answers\n")
    origin.stop()
    #expect(try shell.store.folder.names().filter { $0.hasPrefix("demo") } == ["demo.cfx"])
    let opened = try await shell.run("--store", shell.file("demo.cfx"), "--offline", origin.url + "/a")
    #expect(opened.outputText == "/a" && opened.status == 0)
    #expect(try shell.store.folder.names().filter { $0.hasPrefix("demo") } == ["demo.cfx"])

    let other = try Shell()
    let taken = try await other.run("import", shell.file("demo.cfx"))
    #expect(taken.status == 0 && taken.errorText == "imported 2 stored answers\n")
    #expect(try await other.run("--offline", origin.url + "/long").output.count == 700_000)
    #expect(try await other.run("list", "--tag", "demo").lines.count == 2)
  }

  @Test func `rows with credentials are left out unless the account is named`() async throws {
    let (shell, _) = try await filled()
    _ = try await shell.run("export", "all.cfx")
    let bytes = String(decoding: try shell.store.folder.bytes(of: "all.cfx"), as: UTF8.self)
    #expect(!bytes.contains("alice") && !bytes.contains("/bob") && !bytes.contains("geheim"))
    let named = try await shell.run("export", "--account", "alice", "alice.cfx")
    #expect(named.errorText == "exported 1 stored answer\n")
  }

  @Test func `an older answer does not replace a newer one`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one"))
    _ = try await shell.run(origin.url)
    _ = try await shell.run("export", "old.cfx")
    origin.answer(.ok("two"))
    _ = try await shell.run(origin.url)
    let run = try await shell.run("import", "old.cfx")
    #expect(run.errorText == "imported 0 stored answers; 1 older than what is stored\n")
    #expect(try await shell.run("--offline", origin.url).outputText == "two")
    // What was removed comes back.
    _ = try await shell.run("rm", origin.url)
    _ = try await shell.run("import", "old.cfx")
    #expect(try await shell.run("--offline", origin.url).outputText == "one")
  }

  @Test func `a damaged, a foreign and a missing file are refused whole with 65`() async throws {
    let (shell, _) = try await filled()
    _ = try await shell.run("export", "good.cfx")
    var bytes = try shell.store.folder.bytes(of: "good.cfx")
    // In the middle of the long body.
    guard let place = bytes.indices.dropFirst(bytes.count / 2).first(where: { bytes[$0] == 0x6C }) else {
      return
    }
    bytes[place] = 0x6D
    try shell.store.folder.write(bytes, to: "damaged.cfx")
    try shell.store.folder.write(
      "this is no database, and is long enough to see that it is none", to: "foreign.cfx")
    let other = try Shell()
    for name in ["damaged.cfx", "foreign.cfx", "missing.cfx"] {
      let run = try await other.run("import", shell.file(name))
      #expect(
        run.status == 65 && run.errorText.split(separator: "\n").count == 1, "\(name): \(run.errorText)")
    }
    #expect(try await other.run("list").output.isEmpty)
  }
}
