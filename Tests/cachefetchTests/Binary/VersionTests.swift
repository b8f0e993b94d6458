import DataService
import TestSupport
import Testing
import TestTurns

@Suite("Command: version and help", .inTurn) struct VersionTests {
  @Test func `--version says what SQLite and libcurl are here and what they bring`() async throws {
    let run = try await ChildProcess.run(BuiltProduct.cachefetch(), ["--version"])
    #expect(run.status == 0 && [3, 4].contains(run.lines.count))
    #expect(run.lines[0] == "cachefetch \(Version.string)")
    #expect(run.lines[1].hasPrefix("SQLite 3.") && run.lines[2].hasPrefix("libcurl "))
  }

  @Test func `help goes to standard output`() async throws {
    for words in [["--help"], ["help"], ["help", "get"], ["get", "-h"], ["help", "manual"]] {
      let run = try await ChildProcess.run(BuiltProduct.cachefetch(), words)
      #expect(run.status == 0 && !run.output.isEmpty && run.errors.isEmpty, "\(words)")
    }
    #expect(try await ChildProcess.run(BuiltProduct.cachefetch(), ["help", "lst"]).status == 64)
  }
}
