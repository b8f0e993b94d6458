import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

@Suite("Command: its time limit", .inTurn) struct CommandTests {
  @Test func `a limit of nothing is none: what is still to be read is waited for`() async throws {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in try connection.send(.ok(request.bodyText)) }
    let child = try ChildProcess(
      BuiltProduct.cachefetch(), ["-m", "0", "-d", "@-", origin.url + "/"], environment: shell.environment,
      directory: shell.store.folder.path, input: nil)
    // It sleeps: nothing has come yet.
    let isReading = await eventually {
      let status = try? String(contentsOfFile: "/proc/\(child.pid)/stat", encoding: .utf8)
      return status?.split(separator: ")").last?.hasPrefix(" S") == true
    }
    try #require(isReading)
    child.write(Array("late".utf8))
    child.closeInput()
    let finished = await child.finished()
    #expect(finished.status == 0 && finished.outputText == "late", "\(finished.errorText)")
  }
}
