import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport

/// Runs the built command with a store of its own.
struct Shell {
  let store: TemporaryStore
  /// Variables changed for the command.
  var environment: [String: String?]

  init() throws {
    store = try TemporaryStore()
    environment = [
      "CACHEFETCH_STORE": store.path, "http_proxy": nil, "all_proxy": nil, "NO_COLOR": nil, "COLUMNS": nil,
      "CURL_CA_BUNDLE": nil, "SSL_CERT_FILE": nil, "SSL_CERT_DIR": nil,
      // How busy the machine is must not decide whether a command waits for its store or for others.
      "CACHEFETCH_TEST_TIMEOUTS": "1",
    ]
  }

  /// The same store under the time limits that users have, for tests of what happens when they are over.
  var underLimits: Shell {
    var shell = self
    shell.environment["CACHEFETCH_TEST_TIMEOUTS"] = .some(nil)
    return shell
  }

  /// Runs it to its end.
  func run(_ words: String..., input: [UInt8] = []) async throws -> ChildProcess.Finished {
    try await ChildProcess.run(
      BuiltProduct.cachefetch(), words, environment: environment, directory: store.folder.path, input: input)
  }

  /// Runs it with words put together by the test.
  func run(_ words: [String]) async throws -> ChildProcess.Finished { try await run(words: words, input: []) }

  /// Runs it with words put together by the test, and something to read.
  func run(words: [String], input: [UInt8]) async throws -> ChildProcess.Finished {
    try await ChildProcess.run(
      BuiltProduct.cachefetch(), words, environment: environment, directory: store.folder.path, input: input)
  }

  /// The processes that refresh this shell's store.
  func backgroundProcesses() throws -> Set<Int32> {
    while true {
      var (found, isComplete): (Set<Int32>, Bool) = ([], true)
      for process in try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap({ Int32($0) }) {
        switch refreshes(process) {
        case true?: found.insert(process)
        case false?: break
        // It has the command's file, and no words yet: whoever has started it goes on before it has them.
        case nil:
          let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/exe")
          if file?.hasSuffix("/cachefetch") == true { isComplete = false }
        }
      }
      if isComplete { return found }
    }
  }

  /// Whether a process refreshes this shell's store; `nil` where it has no words or no environment.
  private func refreshes(_ process: Int32) -> Bool? {
    guard let line = try? Data(contentsOf: URL(filePath: "/proc/\(process)/cmdline")), !line.isEmpty else {
      return nil
    }
    guard line.starts(with: Array("cachefetch-background\0".utf8)) else { return false }
    guard let environment = try? Data(contentsOf: URL(filePath: "/proc/\(process)/environ")),
      !environment.isEmpty
    else { return nil }
    let own = "CACHEFETCH_STORE=\(store.path)"
    return environment.split(separator: 0).contains { $0.elementsEqual(own.utf8) }
  }

  /// Suspends until they have ended: they write to the store, and to its folder.
  func backgroundEnd() async throws {
    while try !backgroundProcesses().isEmpty { await Task.yield() }
  }

  /// Starts it.
  func start(
    _ words: String..., output: ChildProcess.Stream = .captured, errors: ChildProcess.Stream = .captured
  ) throws -> ChildProcess {
    try ChildProcess(
      BuiltProduct.cachefetch(), words, environment: environment, directory: store.folder.path,
      output: output,
      errors: errors)
  }

  /// The path of a file beside the store.
  func file(_ name: String) -> String { store.folder.file(name) }
}

extension ChildProcess.Finished {
  /// The exit status; -1 where a signal ended it.
  var status: Int32 { if case .status(let status) = exit { status } else { -1 } }
  /// The lines of standard output.
  var lines: [String] { outputText.split(separator: "\n").map(String.init) }
}

/// An origin with one resource whose answer the test changes.
final class ChangingOrigin: Sendable {
  let server: FixtureServer
  private let state: OriginState

  init(_ reply: FixtureReply = .ok("one", ["ETag": "\"1\""])) throws {
    let state = OriginState(reply)
    self.state = state
    server = try FixtureServer { request, connection in
      state.gate()?.wait()
      try connection.send(state.reply(to: request))
    }
  }

  /// The resource's URL.
  var url: String { server.url + "/x" }

  /// Answers so from now on; a request that names the reply's ETag gets a 304.
  func answer(_ reply: FixtureReply) { state.set(reply) }

  /// Holds every answer back until the gate opens.
  func hold() -> Gate { state.hold() }
}

private final class OriginState: Sendable {
  private let state: Mutex<(reply: FixtureReply, gate: Gate?)>

  init(_ reply: FixtureReply) { state = Mutex((reply, nil)) }

  func set(_ reply: FixtureReply) { state.withLock { $0.reply = reply } }

  func hold() -> Gate {
    let gate = Gate()
    state.withLock { $0.gate = gate }
    return gate
  }

  func gate() -> Gate? { state.withLock(\.gate) }

  func reply(to request: FixtureRequest) -> FixtureReply {
    let reply = state.withLock(\.reply)
    guard let tag = reply.fields.first(where: { $0.name == "ETag" })?.value, request["If-None-Match"] == tag
    else {
      return reply
    }
    return .notModified(etag: tag)
  }
}
