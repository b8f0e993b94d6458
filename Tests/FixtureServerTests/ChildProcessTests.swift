import PlatformC
import TestSupport
import Testing
import TestTurns

@Suite("Child process", .inTurn) struct ChildProcessTests {
  @Test func `output, errors and status are captured`() async throws {
    let done = try await ChildProcess.run(
      "/bin/sh", ["-c", "cat; echo err >&2; exit 7"], input: Array("in".utf8))
    #expect(done.exit == .status(7))
    #expect(done.outputText == "in")
    #expect(done.errorText == "err\n")
    #expect(done.peakMemoryBytes > 0)
  }

  @Test func `more input and output than a pipe holds goes through`() async throws {
    let bytes = [UInt8](repeating: 0x61, count: 3_000_000)
    let done = try await ChildProcess.run("/bin/cat", input: bytes)
    #expect(done.output == bytes)
  }

  @Test func `a child that does not read its input is no error`() async throws {
    let done = try await ChildProcess.run("/bin/true", input: [UInt8](repeating: 0, count: 1_000_000))
    #expect(done.exit == .status(0))
  }

  @Test func `lines are seen while the child runs, and a signal ends it`() async throws {
    let child = try ChildProcess(
      "/bin/sh", ["-c", "echo ready; read line; echo $line; exec cat"], input: nil)
    #expect(await child.output.lines(1) == ["ready"])
    child.write(Array("go\n".utf8))
    #expect(await child.output.waits(for: "go"))
    child.send(SIGTERM)
    #expect(await child.finished().exit == .signal(SIGTERM))
  }

  @Test func `text that never comes does not hang the test`() async throws {
    let child = try ChildProcess("/bin/echo", ["something else"])
    #expect(await !child.output.waits(for: "text"))
  }

  @Test func `the environment and the directory are the child's own`() async throws {
    let folder = try TemporaryFolder()
    let done = try await ChildProcess.run(
      "/bin/sh", ["-c", "pwd; echo $ODD; echo ${HOME-none}"], environment: ["ODD": "1", "HOME": nil],
      directory: folder.path)
    #expect(done.outputText.split(separator: "\n").map(String.init) == [folder.path, "1", "none"])
  }

  @Test func `a terminal is one, a pipe is not`() async throws {
    let script = ["-c", "test -t 2 && echo yes >&2 || echo no >&2"]
    let onTerminal = try ChildProcess("/bin/sh", script, errors: .terminal)
    #expect(await onTerminal.finished().errorText == "yes\r\n")
    #expect(try await ChildProcess.run("/bin/sh", script).errorText == "no\n")
  }

  @Test func `the child inherits no descriptor but its three`() async throws {
    let done = try await ChildProcess.run("/bin/sh", ["-c", "ls /proc/$$/fd"])
    #expect(Set(done.outputText.split(separator: "\n")).isSubset(of: ["0", "1", "2"]))
  }

  @Test func `a program that is not there is reported`() {
    #expect(throws: ChildProcess.NotStarted.self) { try ChildProcess("/nowhere/program") }
  }

  @Test func `many at once all end`() async throws {
    try await withThrowingTaskGroup(of: String.self) { group in
      for number in 0..<50 {
        group.addTask { try await ChildProcess.run("/bin/echo", ["\(number)"]).outputText }
      }
      var seen: Set<String> = []
      for try await text in group { seen.insert(text) }
      #expect(seen.count == 50)
    }
  }
}
