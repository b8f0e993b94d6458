import FixtureServer
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Command: -o FILE", .timeLimit(.minutes(1))) struct OutputFileTests {
  @Test func `the file holds the stored body at once and the fresh one when it is whole`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    let gate = origin.hold()
    origin.answer(.ok("two"))
    let child = try shell.start("-v", "-o", "out", origin.url)
    await origin.server.waitForRequests(2)
    // The exchange has begun, so the stored delivery is out or about to be.
    while !shell.store.folder.contains("out") { await Task.yield() }
    #expect(try shell.store.folder.text(of: "out") == "one")
    gate.open()
    let finished = await child.finished()
    #expect(finished.status == 0 && finished.output.isEmpty)
    #expect(try shell.store.folder.text(of: "out") == "two")
    #expect(try shell.store.folder.names().filter { $0.contains("part") } == [])
  }

  @Test func `a fresh 404 leaves the file as the stored answer wrote it`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    origin.answer(.status(404, "gone"))
    #expect(try await shell.run("-o", "out", origin.url).status == 0)
    #expect(try shell.store.folder.text(of: "out") == "one")
  }

  @Test func `an unchanged answer fills a file that nothing has filled yet`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run(origin.url)
    #expect(try await shell.run("--policy", "fresh-only", "-o", "out", origin.url).status == 0)
    #expect(try shell.store.folder.text(of: "out") == "one")
  }

  @Test func `mode and symbolic link are kept`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let path = try shell.store.folder.write("old", to: "real")
    chmod(path, 0o640)
    symlink("real", shell.file("link"))
    #expect(try await shell.run("-o", "link", origin.url).status == 0)
    var status = stat()
    #expect(lstat(shell.file("link"), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o640)
    #expect(try shell.store.folder.text(of: "real") == "one")
  }

  @Test func `interrupted in the middle of a body, the file stays as it was and nothing is left beside it`()
    async throws
  {
    let shell = try Shell()
    try shell.store.folder.write("before", to: "out")
    let origin = try FixtureServer { _, connection in
      try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\nCache-Control: no-store\r\n\r\nhalf")
      connection.waitForPeerClose()
    }
    for (index, (signal, status)) in [(SIGINT, Int32(130)), (SIGTERM, 143)].enumerated() {
      let child = try shell.start("-o", "out", origin.url + "/")
      await origin.waitForRequests(index + 1)
      child.send(signal)
      let finished = await child.finished()
      #expect(finished.status == status)
      #expect(try shell.store.folder.text(of: "out") == "before")
      #expect(try shell.store.folder.names().filter { $0.contains("part") } == [])
    }
  }

  @Test func `where the file cannot be, nothing is fetched and the status is 64`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    for path in ["nowhere/out", ".", ""] {
      #expect(try await shell.run("-o", path, origin.url).status == 64)
    }
    #expect(origin.server.requests().isEmpty)
  }

  @Test func `a disk that is full is said and comes to 74`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let run = try await shell.run("-o", "/dev/full", origin.url)
    #expect(run.status == 74 && run.errorText.contains("no space left"))
  }

  @Test func `with --json the lines go to standard output and the body to the file`() async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin()
    let run = try await shell.run("--json", "-o", "out", origin.url)
    #expect(run.outputText.contains("\"body_omitted\":true") && !run.outputText.contains("\"body\":"))
    #expect(try shell.store.folder.text(of: "out") == "one")
  }
}
