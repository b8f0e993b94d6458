import FixtureServer
import TestSupport
import Testing
import TestTurns

/// What is printed and does not arrive is no success, whichever verb prints it.
@Suite("Command: standard output on a full disk", .inTurn) struct FullOutputTests {
  private static let url = "URL"

  /// Each prints something of a stored response, of its store or of the command itself.
  static let lines: [String] = [
    "URL", "-q URL", "--json URL", "-i URL", "-I URL", "--print last URL", "--print stored URL",
    "--print fresh URL",
    "--offline URL", "--offline --json URL", "--policy http URL", "-o out -w %{response_code} URL",
    "--parallel 2 URL URL?2", "list", "list --json", "show URL", "show -i URL", "explain URL",
    "explain --json URL", "stats", "stats --json", "limits", "limits --json", "doctor", "doctor --json",
    "diff URL",
    "diff --json URL", "preload --json URL", "rm --json URL", "watch --until-changed --every 1h URL",
    "watch --until-changed --every 1h --json URL",
    "help", "help get", "help manual", "--version", "completions bash", "completions zsh", "completions fish",
  ]

  @Test(arguments: lines) func `is said, and comes to 74`(line: String) async throws {
    let shell = try Shell()
    let origin = try ChangingOrigin(.ok("one\n", ["Content-Type": "text/plain"]))
    _ = try await shell.run(origin.url)
    // Another one, so that a comparison has something to print.
    origin.answer(.ok("two\n", ["Content-Type": "text/plain"]))
    let words = line.split(separator: " ").map { String($0).replacing(Self.url, with: origin.url) }
    let run = try await ChildProcess.run(
      "/bin/sh", ["-c", #""$0" "$@" > /dev/full"#, BuiltProduct.cachefetch()] + words,
      environment: shell.environment, directory: shell.store.folder.path)
    #expect(run.status == 74, "\(run.exit) \(run.errorText)")
    // Under -q the status alone says it.
    #expect(
      run.errorText.contains("standard output cannot be written") != words.contains("-q"), "\(run.errorText)")
  }
}
