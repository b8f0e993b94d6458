import FixtureServer
import TestSupport
import Testing
import TestTurns

#if canImport(Glibc)
  import Glibc

  /// System calls on the store's files that fail, or wait for ever, around a whole command.
  @Suite("Laws 3 and 9: system calls that fail or wait", .inTurn) struct FaultCallTests {
    /// The library that is preloaded; made once, by the compiler that builds this package.
    private static func library(in folder: TemporaryFolder) async throws -> String {
      let path = folder.file("faultcalls.so")
      let source = "\(#filePath)".split(separator: "/").dropLast(3).joined(separator: "/")
      let made = try await ChildProcess.run(
        "/usr/bin/env", ["cc", "-shared", "-fPIC", "-o", path, "/\(source)/CFaultCalls/FaultCalls.c", "-ldl"])
      try #require(made.status == 0, "\(made.errorText)")
      return path
    }

    private func shell(_ calls: String, _ more: [String: String]) async throws -> Shell {
      var shell = try Shell()
      shell.environment["LD_PRELOAD"] = try await Self.library(in: shell.store.folder)
      shell.environment["FAULT_CALLS"] = calls
      shell.environment["FAULT_PATH"] = "store.sqlite"
      for (name, value) in more { shell.environment[name] = value }
      return shell
    }

    @Test(
      "law 9: a fresh answer is printed whatever fails in the store",
      arguments: ["open", "stat", "lock", "sync", "read", "write", "rename", "unlink"], [1, 2, 5])
    func failing(calls: String, nth: Int) async throws {
      let origin = try ChangingOrigin(.ok("one"))
      for error in [EIO, ENOLCK, EACCES, ENOSPC] {
        let shell = try await shell(
          calls, ["FAULT_NTH": "\(nth)", "FAULT_LASTING": "1", "FAULT_ERROR": "\(error)"])
        let finished = try await shell.run(origin.url)
        #expect(finished.status == 0 && finished.outputText == "one", "\(error) \(finished.errorText)")
      }
    }

    @Test(
      "law 3: a call that does not come back holds up neither the request nor the fresh answer",
      arguments: ["open", "stat", "lock"], [1, 2, 3, 4, 6])
    func waiting(calls: String, nth: Int) async throws {
      let origin = try ChangingOrigin(.ok("two"))
      let shell = try await shell(calls, ["FAULT_NTH": "\(nth)", "FAULT_LASTING": "1"])
      var environment = shell.environment
      for name in ["FAULT_CALLS", "LD_PRELOAD"] { environment[name] = .some(nil) }
      var plain = shell
      plain.environment = environment
      #expect(try await plain.run(origin.url).outputText == "two")
      let gate = shell.file("gate")
      #expect(mkfifo(gate, 0o600) == 0)
      var held = shell
      held.environment["FAULT_GATE"] = gate
      let command = try held.start("--print", "fresh", origin.url)
      // Nobody opens the gate before the answer is there.
      #expect(await command.output.waits(for: "two"), "\(command.errors.text)")
      let opened = open(gate, O_RDWR | O_NONBLOCK)
      #expect(await command.exit() == .status(0))
      close(opened)
    }

    @Test func `without locks each process goes alone, is given what is stored, and is told once`()
      async throws
    {
      let origin = try ChangingOrigin(.ok("one"))
      let shell = try await shell("lock", ["FAULT_LASTING": "1", "FAULT_ERROR": "\(ENOLCK)"])
      var plain = shell
      plain.environment["LD_PRELOAD"] = .some(nil)
      #expect(try await plain.run(origin.url).outputText == "one")
      origin.answer(.ok("two"))
      let finished = try await shell.run(origin.url)
      #expect(finished.outputText == "onetwo" && finished.status == 0)
      #expect(finished.errorText.split(separator: "\n").filter { $0.contains("gives no locks") }.count == 1)
      #expect(try await shell.run("--offline", origin.url).outputText == "one")
    }
  }
#endif
