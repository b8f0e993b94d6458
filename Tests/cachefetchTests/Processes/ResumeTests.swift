import FixtureServer
import PlatformC
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// A download that ends with its process, and another process that goes on with it.
@Suite("Command: a killed download is resumed", .inTurn) struct ResumeTests {
  private static let chunk = 256 << 10

  /// Sends half a body and holds the rest back; understands ranges.
  private func origin(_ content: [UInt8]) throws -> FixtureServer {
    try FixtureServer { request, connection in
      guard let range = request["Range"], let start = Int(range.dropFirst(6).dropLast()) else {
        try connection.sendRaw("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: \(content.count)\r\n\r\n")
        try connection.sendRaw(Array(content[..<(content.count / 2)]))
        return connection.waitForPeerClose()
      }
      var reply = FixtureReply.ok(
        Array(content[start...]),
        ["ETag": "\"v1\"", "Content-Range": "bytes \(start)-\(content.count - 1)/\(content.count)"])
      reply.status = 206
      try connection.send(reply)
    }
  }

  @Test(
    "killed once so many chunks are there, by SIGKILL, the next process asks for the rest",
    arguments: [1, 3, 7])
  func killed(chunks: Int) async throws {
    var random = SeededGenerator(for: "killed \(chunks)")
    let content = random.bytes(16 * Self.chunk + 123)
    let origin = try origin(content)
    let url = origin.url + "/big"
    let shell = try Shell()
    let first = try shell.start("-q", url)
    while try committed(shell) < chunks { await Task.yield() }
    first.send(SIGKILL)
    let ended = await first.finished()
    #expect(ended.exit == .signal(SIGKILL) && ended.output.isEmpty)

    let offline = try await shell.run("-q", "--offline", url)
    #expect(offline.status == 4 && offline.output.isEmpty, "what has arrived is no stored answer")
    #expect(try await shell.run("list").output.isEmpty)

    let there = try shell.store.value("SELECT sum(length(bytes)) FROM chunk").integer ?? 0
    #expect(there >= Int64(chunks * Self.chunk))
    let second = try await shell.run("-q", url)
    #expect(second.status == 0 && second.output == content)
    let asked = try #require(origin.requests().last)
    #expect(asked["Range"] == "bytes=\(there)-" && asked["If-Range"] == "\"v1\"")
    #expect(origin.requests().count == 2)
    #expect(try await shell.run("-q", "--offline", url).output == content)
    #expect(try await shell.run("doctor").status == 0)
  }

  private func committed(_ shell: Shell) throws -> Int {
    guard shell.store.folder.contains("store.sqlite-wal") else { return 0 }
    // Before the tables are there the question itself fails.
    return Int((try? shell.store.value("SELECT count(*) FROM chunk"))?.integer ?? 0)
  }
}
