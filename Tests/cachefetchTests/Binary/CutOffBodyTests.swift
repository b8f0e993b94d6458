import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// A body that ends before its end while the command prints it: what has been printed cannot be taken back, so the status
/// and a line say it.
@Suite("Command: a body that breaks off while it is printed", .inTurn) struct CutOffBodyTests {
  /// More than is kept back before a body that may not be stored goes out.
  private static let pieces = 12
  private static let piece = [UInt8](repeating: 0x61, count: 1 << 20)

  /// An origin whose long body may not be stored and is cut off; the others are whole.
  private func origin() throws -> FixtureServer {
    try FixtureServer { request, connection in
      guard request.path == "/cut" else { return try connection.send(.ok("whole\n")) }
      var head = FixtureReply.ok([UInt8](), ["Cache-Control": "no-store"])
      head.chunkSize = 1 << 20
      try connection.sendHead(head)
      for _ in 0..<Self.pieces { try connection.sendChunk(Self.piece) }
      connection.close()
    }
  }

  @Test func `what has come is printed, a line says that it was cut off, and the status is 4`() async throws {
    let shell = try Shell()
    let origin = try origin()
    let run = try await shell.run("--retry", "0", "--connect-timeout", "1h", origin.url + "/cut")
    #expect(run.status == 4)
    #expect(run.output.count == Self.pieces << 20 && run.output.allSatisfy { $0 == 0x61 })
    #expect(run.errorText.hasPrefix("cachefetch: \(origin.url)/cut: "), "\(run.errorText)")
    #expect(run.errorText.contains("cut off") && run.errorText.split(separator: "\n").count == 1)
    // With another URL the worst counts, and -w knows of it.
    let both = try await shell.run(
      "--retry", "0", "--connect-timeout", "1h", "--parallel", "1", "-w", "%{exitcode} ",
      origin.url + "/cut", origin.url + "/x")
    #expect(both.status == 4 && String(decoding: both.output.suffix(10), as: UTF8.self) == "4 whole\n0 ")
  }

  @Test func `a file is left as it was`() async throws {
    let shell = try Shell()
    let origin = try origin()
    try shell.store.folder.write("before", to: "out")
    let run = try await shell.run("--retry", "0", "--connect-timeout", "1h", "-o", "out", origin.url + "/cut")
    #expect(run.status == 4 && run.errorText.contains("cut off"), "\(run.errorText)")
    #expect(try shell.store.folder.text(of: "out") == "before")
    #expect(try shell.store.folder.names().allSatisfy { !$0.hasPrefix(".out") && !$0.hasPrefix("out.") })
  }

  /// What is done with the body, besides being printed to a pipe.
  static let uses = [
    ["--print", "none"], ["--print", "stored"], ["-o", "out"], ["--json", "--print", "last"], ["preload"],
    ["diff"],
  ]

  @Test("It is a failure whatever becomes of it, and what is stored stands", arguments: uses)
  func use(words: [String]) async throws {
    let shell = try Shell()
    let isCut = Mutex(false)
    let origin = try FixtureServer { _, connection in
      guard isCut.withLock({ $0 }) else { return try connection.send(.ok("whole\n")) }
      var head = FixtureReply.ok([UInt8](), ["Cache-Control": "no-store"])
      head.chunkSize = 1 << 20
      try connection.sendHead(head)
      for _ in 0..<Self.pieces { try connection.sendChunk(Self.piece) }
      connection.close()
    }
    _ = try await shell.run(origin.url + "/stored")
    isCut.withLock { $0 = true }
    let common = ["--retry", "0", "--connect-timeout", "1h"]
    // Where nothing is stored, `diff` does not read the body: it may not be compared.
    for (path, status) in [("/stored", 3), ("/new", 4)] as [(String, Int32)]
    where path == "/stored" || words != ["diff"] {
      let run = try await shell.run(words + common + [origin.url + path])
      #expect(run.status == status, "\(path)")
      #expect(run.errorText.contains("cut off"), "\(path): \(run.errorText)")
      let isStored = path == "/stored"
      switch words.first {
      case "--json":
        #expect(run.lines.map { $0.contains(#""delivery":"stored""#) } == (isStored ? [true] : [false]))
        if !isStored { #expect(run.outputText.contains(#""kind":"truncated""#)) }
      case "-o" where isStored: #expect(try shell.store.folder.text(of: "out") == "whole\n")
      case "preload": #expect(run.errorText.contains(isStored ? "1 only stored" : "1 missing"))
      default: break
      }
    }
  }

  @Test func `a stored body with a damaged chunk ends before it`() async throws {
    let shell = try Shell()
    let content = distinctBytes(3_000_000)
    let origin = try ChangingOrigin(.ok(content, ["ETag": "\"1\""]))
    func damage() throws {
      try shell.store.execute(
        "UPDATE chunk SET bytes = CAST(x'FF' || substr(bytes, 2) AS BLOB) WHERE id % 1048576 = 5")
    }
    let first = try await shell.run(origin.url)
    #expect(first.status == 0 && first.output == content && first.errors.isEmpty, "\(first.errorText)")
    try damage()
    let offline = try await shell.run("--offline", origin.url)
    #expect(offline.status == 4)
    #expect(offline.output.count < content.count && content.starts(with: offline.output))
    #expect(offline.output.count == 5 * 262_144, "chunk by chunk, up to the damaged one")
    #expect(offline.errorText.hasPrefix("cachefetch: \(origin.url): "), "\(offline.errorText)")
    let shown = try await shell.run("show", origin.url)
    #expect(shown.status != 0 && content.starts(with: shown.output) && shown.output.count < content.count)
    #expect(!shown.errors.isEmpty)
  }
}
