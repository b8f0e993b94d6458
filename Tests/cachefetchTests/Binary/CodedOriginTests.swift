import FixtureServer
import TestSupport
import Testing
import TestTurns

@Suite("Command: an origin that compresses whatever is asked for", .inTurn) struct CodedOriginTests {
  /// `hello`, as gzip makes it.
  private static let hello: [UInt8] = [
    0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0, 0x86, 0xA6, 0x10, 0x36,
    0x05, 0,
    0, 0,
  ]

  private func origin() throws -> FixtureServer {
    try FixtureServer { _, connection in
      try connection.send(.ok(Self.hello, ["Content-Encoding": "gzip", "Cache-Control": "max-age=600"]))
    }
  }

  @Test func `under http it is text, and so is what is stored of it`() async throws {
    let shell = try Shell()
    let origin = try origin()
    let words = ["--policy", "http"]
    let first = try await shell.run(words + ["-i", origin.url])
    #expect(first.status == 0 && first.outputText.hasSuffix("\r\n\r\nhello"), "\(first.outputText)")
    #expect(!first.outputText.contains("gzip"), "\(first.outputText)")
    origin.stop()
    for words in [["--offline"], ["show"], words] {
      let run = try await shell.run(words + [origin.url])
      #expect(run.status == 0 && run.outputText == "hello", "\(words): \(run.outputText) \(run.errorText)")
    }
    let plain = try await shell.run("--retry", "0", origin.url)
    #expect(plain.status == 3 && plain.outputText == "hello")
  }

  @Test func `an empty body that is said to be compressed is an empty body, also from the store`()
    async throws
  {
    let shell = try Shell()
    let origin = try FixtureServer(routes: ["/": .ok("", ["Content-Encoding": "gzip"])])
    for words in [["--print", "last"], ["--offline"], ["--offline", "--no-compressed"]] {
      let run = try await shell.run(words + [origin.url])
      #expect(run.status == 0 && run.output.isEmpty && run.errorText.isEmpty, "\(words): \(run.errorText)")
    }
  }

  @Test(
    "who wants no compression has it as it comes, and who wants it decoded is told how to see it",
    arguments: [
      [], ["-H", "Accept-Encoding: gzip"], ["-H", "Accept-Encoding: identity"], ["--policy", "http"],
    ])
  func asItComes(words: [String]) async throws {
    let shell = try Shell()
    let origin = try origin()
    let coded = try await shell.run(["--no-compressed"] + words + [origin.url])
    #expect(coded.status == 0 && coded.output == Self.hello)
    let said =
      "cachefetch: what is stored for \(origin.url)/ is in a content coding; print its bytes as they are with get "
      + "--offline --no-compressed, or fetch it anew\n"
    for words in [["--offline"], ["show"]] {
      let run = try await shell.run(words + [origin.url])
      #expect(run.status == 4 && run.output.isEmpty && run.errorText == said, "\(words): \(run.errorText)")
    }
    #expect(try await shell.run("--offline", "--no-compressed", origin.url).output == Self.hello)
    #expect(try await shell.run("--print", "last", origin.url).outputText == "hello")
    #expect(try await shell.run("--offline", origin.url).outputText == "hello")
  }
}
