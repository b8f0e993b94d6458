import DataService
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command: get, delivery by delivery", .inTurn) struct GetCommandTests {
  /// Runs a `get` of one URL whose load delivers that, and ends.
  private func run(
    _ words: [String], _ deliveries: [GetCommand.Delivery]
  ) throws -> (status: Status, errors: String) {
    let streams = try WrittenStreams()
    let plan = try GetArguments(try ArgumentParser.parse(words + ["http://a.example/x"]))
    let status = GetCommand(plan, ScriptedLoads { deliveries }, streams.diagnostics).run()
    return (status, streams.errors.text)
  }

  private func response(_ body: String, status: Int, isStored: Bool = false) -> GetCommand.Response {
    Sample.response(Array(body.utf8), isStored: isStored) { $0.status = status }
  }

  @Test func `a stored error leaves the file, which the fresh response then fills`() throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("before", to: "out")
    let gone = response("gone", status: 404, isStored: true)
    let alone = try run(["-o", file], [.stored(gone)])
    #expect(alone.status == .httpFailure)
    #expect(
      alone.errors
        == "cachefetch: http://a.example/x: the stored response is 404 OK; “\(file)” is left as it is\n")
    #expect(try folder.text(of: "out") == "before")
    let both = try run(["-o", file], [.stored(gone), .fresh(response("new", status: 200), .changed)])
    #expect(both.status == .success && both.errors == alone.errors)
    #expect(try folder.text(of: "out") == "new")
  }

  @Test func `under -f a stored error of 400 is said to be that, and what is below it is not`() throws {
    for (words, end) in [(["-f"], "; its body is not printed\n"), (["--fail-with-body"], "\n")] {
      let failed = try run(
        words + ["--print", "none"], [.stored(response("x", status: 400, isStored: true))])
      #expect(failed.status == .httpFailure, "\(words)")
      #expect(
        failed.errors == "cachefetch: http://a.example/x: the stored response is 400 OK\(end)", "\(words)")
      let fine = try run(
        words + ["--print", "none"], [.stored(response("x", status: 399, isStored: true))])
      #expect(fine.status == .success && fine.errors.isEmpty, "\(words)")
    }
  }

  @Test(arguments: [
    ["--json", "--retry", "0"], ["-i", "--policy", "http", "-H", "Cache-Control: only-if-cached"],
  ])
  func `what is printed of a failure and does not arrive is said, and comes to 74`(words: [String])
    async throws
  {
    let shell = try Shell()
    let run = try await ChildProcess.run(
      "/bin/sh",
      ["-c", #""$0" "$@" > /dev/full"#, BuiltProduct.cachefetch()] + words + ["http://127.0.0.1:1/"],
      environment: shell.environment)
    #expect(run.status == 74, "\(words): \(run.exit)")
    #expect(run.errorText.contains("standard output cannot be written"), "\(words): \(run.errorText)")
  }

  @Test func `only offline is a store that cannot be used a failure of its own`() throws {
    for kind in [DataServiceError.Kind.store, .corrupt, .closed, .refused] {
      let failure = GetCommand.Delivery.failure(DataServiceError(kind, "no"), lastKnown: nil)
      let offline: Status = kind == .refused ? .nothing : .inputOutput
      #expect(try run(["--offline"], [failure]).status == offline, "\(kind)")
      #expect(try run([], [failure]).status == .nothing, "\(kind)")
    }
  }
}
