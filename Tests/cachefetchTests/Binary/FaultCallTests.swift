import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

import PlatformC

/// System calls on the store's files that fail, or wait for ever, around a whole command.
@Suite("Laws 3 and 9: system calls that fail or wait", .inTurn) struct FaultCallTests {
  /// The library that is preloaded, made by the compiler that builds this package.
  private actor Library {
    static let shared = Library()
    private var making: Task<TemporaryFolder, any Error>?

    /// Its path; whoever asks first makes it.
    func path() async throws -> String {
      let making = making ?? Task { try await Self.make() }
      self.making = making
      return try await making.value.file("faultcalls.so")
    }

    private static func make() async throws -> TemporaryFolder {
      let folder = try TemporaryFolder()
      let tests = "\(#filePath)".split(separator: "/").dropLast(3).joined(separator: "/")
      let words = [
        "-shared", "-fPIC", "-o", folder.file("faultcalls.so"), "/\(tests)/CFaultCalls/FaultCalls.c",
      ]
      let made = try await ChildProcess.run("/usr/bin/env", ["cc"] + words + ["-ldl"])
      try #require(made.status == 0, "\(made.errorText)")
      return folder
    }
  }

  private func shell(_ calls: String, _ more: [String: String]) async throws -> Shell {
    // The limits are what gets a command past a call that never ends.
    var shell = try Shell().underLimits
    shell.environment["LD_PRELOAD"] = try await Library.shared.path()
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
    // All of them at the first call, and two at each later one.
    let errors = [1: [EIO, ENOLCK, EACCES, ENOSPC], 2: [EIO, ENOSPC], 5: [ENOLCK, EACCES]]
    for error in try #require(errors[nth]) {
      let shell = try await shell(
        calls, ["FAULT_NTH": "\(nth)", "FAULT_LASTING": "1", "FAULT_ERROR": "\(error)"])
      let finished = try await shell.run(origin.url)
      #expect(finished.status == 0 && finished.outputText == "one", "\(error) \(finished.errorText)")
    }
  }

  @Test(
    "law 3: a call that does not come back holds up neither the request nor the fresh answer",
    arguments: ["open", "stat", "lock"])
  func waiting(calls: String) async throws {
    let origin = try ChangingOrigin(.ok("two"))
    let stored = try Shell()
    #expect(try await stored.run(origin.url).outputText == "two")
    let library = try await Library.shared.path()
    // All at once: what each takes is the waiting for a store that does not answer.
    try await withThrowingTaskGroup { group in
      for nth in [1, 2, 3, 4, 6] {
        group.addTask {
          var held = try stored.copied()
          let gate = try held.hold(calls, nth, library)
          let command = try held.start("--print", "fresh", origin.url)
          // Nobody opens the gate before the answer is there.
          #expect(await command.output.waits(for: "two"), "\(nth) \(command.errors.text)")
          let opened = open(gate, O_RDWR | O_NONBLOCK)
          #expect(await command.exit() == .status(0), "\(nth)")
          close(opened)
        }
      }
      try await withoutTurn { try await group.waitForAll() }
    }
  }

  /// A way to ask, with what it needs before and what is then printed.
  struct Asked: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var words: [String] = ["--print", "fresh"]
    var path = "/x"
    /// Whether it has been asked for before, without any trouble.
    var isStored = true
    var body = "two"

    static let all = [
      Asked(testDescription: "the first time", isStored: false),
      Asked(testDescription: "what is stored"),
      Asked(testDescription: "what has not changed", path: "/same"),
      Asked(testDescription: "over a redirect", path: "/redirect"),
      Asked(testDescription: "an answer that is not stored", path: "/gone"),
      Asked(testDescription: "alone", words: ["--policy", "fresh-only"]),
      Asked(
        testDescription: "by the rules of HTTP",
        words: ["--policy", "http", "-H", "Cache-Control: no-cache"]),
      Asked(
        testDescription: "a long body", path: "/long", isStored: false,
        body: String(repeating: "0123456789", count: 70_000)),
    ]
  }

  private static func origin() throws -> FixtureServer {
    let long = Asked.all.last?.body ?? ""
    return try FixtureServer { request, connection in
      switch request.target {
      case "/same" where request["If-None-Match"] == "\"1\"":
        try connection.send(.notModified(etag: "\"1\""))
      case "/same": try connection.send(.ok("two", ["ETag": "\"1\""]))
      case "/redirect": try connection.send(FixtureReply(status: 302, fields: ["Location": "/x"]))
      case "/gone": try connection.send(FixtureReply(status: 404, body: Array("two".utf8)))
      case "/long": try connection.send(.ok(long))
      default: try connection.send(.ok("two"))
      }
    }
  }

  private static let kinds = ["open", "stat", "lock", "read", "write", "sync", "rename", "unlink"]

  @Test(
    "law 9: a fresh answer is printed while a call on the store's files stands still", arguments: Asked.all)
  func standing(asked: Asked) async throws {
    let origin = try Self.origin()
    let library = try await Library.shared.path()
    let stored = try Shell()
    if asked.isStored { _ = try await stored.run(asked.words + [origin.url + asked.path]) }
    // All at once: what each takes is the waiting for a store that does not answer.
    try await withThrowingTaskGroup { group in
      let number = try #require(Asked.all.firstIndex { $0.testDescription == asked.testDescription })
      for (kind, calls) in Self.kinds.enumerated() {
        // The first call, one while the store is opened, and a later one, each with all that follow: one of each kind, the
        // others with other ways to ask.
        for (place, nth) in [1, 3, 8].enumerated() where (number + kind) % 3 == place {
          group.addTask {
            try await Self.stand(
              stored.copied(), asked, at: origin.url + asked.path, calls, nth, library)
          }
        }
      }
      try await withoutTurn { try await group.waitForAll() }
    }
  }

  private static func stand(
    _ stored: Shell, _ asked: Asked, at url: String, _ calls: String, _ nth: Int, _ library: String
  ) async throws {
    let what = Comment(rawValue: "\(calls) \(nth)")
    var shell = stored
    let gate = try shell.hold(calls, nth, library)
    let command = try ChildProcess(
      BuiltProduct.cachefetch(), asked.words + [url], environment: shell.environment)
    await command.output.waits(forBytes: asked.body.utf8.count)
    #expect(command.output.text == asked.body, what)
    // Opened for nothing but writing, it says whether anybody stands there. On a busy machine the answer
    // may have gone out before the first call is made at all; the command then waits for that one.
    let isToStand = nth == 1 && !["rename", "unlink", "sync"].contains(calls)
    var isHeld = open(gate, O_WRONLY | O_NONBLOCK)
    if isToStand {
      _ = await eventually {
        if isHeld < 0 { isHeld = open(gate, O_WRONLY | O_NONBLOCK) }
        return isHeld >= 0
      }
    }
    #expect(isHeld >= 0 || !isToStand, what)
    let opened = open(gate, O_RDWR | O_NONBLOCK)
    let finished = await command.finished()
    #expect(finished.status == 0 && finished.outputText == asked.body, "\(what) \(finished.errorText)")
    for descriptor in [isHeld, opened] where descriptor >= 0 { close(descriptor) }
  }

  @Test func `law 9: the command ends although the call never comes back`() async throws {
    let origin = try Self.origin()
    let library = try await Library.shared.path()
    let url = origin.url + "/x"
    let stored = try Shell()
    _ = try await stored.run(url)
    // All at once: each takes the five seconds that a write may take.
    try await withThrowingTaskGroup { group in
      for calls in ["open", "stat", "lock", "read", "write"] {
        for nth in [1, 3, 9] {
          group.addTask {
            var shell = try stored.copied()
            let gate = try shell.hold(calls, nth, library)
            let run = try await shell.run("--print", "fresh", "-w", " %{http_code}", url)
            #expect(run.status == 0 && run.outputText == "two 200", "\(calls) \(nth) \(run.errorText)")
            #expect(open(gate, O_WRONLY | O_NONBLOCK) < 0, "nobody is left there")
          }
        }
      }
      try await withoutTurn { try await group.waitForAll() }
    }
  }

  @Test
  func `the thread in the place of one that stands still writes the file of -o, under the sandbox too`()
    async throws
  {
    let origin = try Self.origin()
    let library = try await Library.shared.path()
    let elsewhere = try TemporaryFolder()
    let stored = try Shell()
    _ = try await stored.run(origin.url + "/x")
    #expect(mkdir(elsewhere.file("folder"), 0o700) == 0)
    // All at once: each takes the five seconds that a write may take.
    try await withThrowingTaskGroup { group in
      for (words, name) in [([], "out"), (["--no-sandbox"], "out2"), ([], "folder/out")] {
        group.addTask {
          var shell = try stored.copied()
          _ = try shell.hold("open", 1, library)
          let run = try await shell.run(words + ["-o", elsewhere.file(name), origin.url + "/x"])
          #expect(run.status == 0, "\(name) \(run.errorText)")
          #expect(try elsewhere.text(of: name) == "two", "\(name)")
        }
      }
      try await withoutTurn { try await group.waitForAll() }
    }
    #expect(try Set(elsewhere.names()) == ["out", "out2", "folder"], "nothing else is left")
  }

  @Test(
    "law 9: a long body that cannot be read back from the store is printed all the same",
    arguments: [3, 10, 30, 60, 100])
  func unreadable(nth: Int) async throws {
    let origin = try Self.origin()
    let shell = try await shell(
      "read", ["FAULT_NTH": "\(nth)", "FAULT_LASTING": "1", "FAULT_ERROR": "\(EIO)"])
    let finished = try await shell.run(origin.url + "/long")
    #expect(finished.status == 0 && finished.outputText == Asked.all.last?.body, "\(finished.errorText)")
  }

  @Test func `law 7: where each call for a lock says that another has it, the origin is asked`()
    async throws
  {
    let origin = try ChangingOrigin(.ok("one"))
    let plain = try Shell()
    #expect(try await plain.run(origin.url).outputText == "one")
    origin.answer(.ok("two"))
    var shell = try plain.copied().underLimits
    let faults = [
      "LD_PRELOAD": try await Library.shared.path(), "FAULT_CALLS": "lock", "FAULT_LASTING": "1",
      "FAULT_PATH": "store.sqlite", "FAULT_ERROR": "\(EAGAIN)",
    ]
    for (name, value) in faults { shell.environment[name] = value }
    // Its lock file alone, too.
    for path in ["store.sqlite", "store.sqlite.lock"] {
      shell.environment["FAULT_PATH"] = path
      let finished = try await withoutTurn { [shell] in
        try await shell.run("--print", "fresh", "-m", "20s", origin.url)
      }
      #expect(finished.status == 0 && finished.outputText == "two", "\(path) \(finished.errorText)")
    }
  }

  @Test func `a digest key that the disk has not confirmed is none`() async throws {
    let origin = try ChangingOrigin(.ok("one"))
    let shell = try await shell("sync", ["FAULT_LASTING": "1", "FAULT_ERROR": "\(EIO)"])
    let finished = try await shell.run("-u", "alice:secret", origin.url)
    #expect(finished.status == 0 && finished.outputText == "one", "\(finished.errorText)")
    #expect(finished.errorText.contains("the digest key"), "\(finished.errorText)")
    #expect(try shell.store.folder.names().allSatisfy { !$0.contains(".key") })
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

extension Shell {
  /// Another with the same store; no command may be using it.
  fileprivate func copied() throws -> Shell {
    let other = try Shell()
    for name in try store.folder.names() {
      try FileManager.default.copyItem(atPath: file(name), toPath: other.file(name))
    }
    return other
  }

  /// Has each call of a kind on the store's files stand still, from that one on, until the pipe is opened to be written.
  /// - Returns: The pipe.
  fileprivate mutating func hold(_ calls: String, _ nth: Int, _ library: String) throws -> String {
    let gate = file("gate")
    try #require(mkfifo(gate, 0o600) == 0)
    // The limits are what gets the command past a call that stands still.
    self = underLimits
    let faults = [
      "LD_PRELOAD": library, "FAULT_CALLS": calls, "FAULT_PATH": "store.sqlite", "FAULT_NTH": "\(nth)",
      "FAULT_LASTING": "1", "FAULT_GATE": gate,
    ]
    for (name, value) in faults { environment[name] = value }
    return gate
  }
}
