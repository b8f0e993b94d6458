import FixtureServer
import PlatformC
import TestSupport

/// Five runs of cachefetch against an origin that changes, stays the same, goes down and comes back.
struct Tour {
  private struct Scene: Sendable {
    let title: String
    let expected: ChildProcess.Exit
    let prepare: @Sendable (NewsOrigin) throws -> Void
  }

  let program: String

  /// Written directly to the descriptor, which keeps the order with the program's own output.
  private func say(_ text: String, terminator: String = "\n") {
    let line = text + terminator
    _ = write(1, line, line.utf8.count)
  }

  private static let scenes = [
    Scene(
      title: "First fetch: nothing is stored yet, so the answer comes from the origin, and is kept.",
      expected: .status(0)
    ) { _ in },
    Scene(
      title: "The origin has changed: the stored answer at once, then the fresh one.", expected: .status(0)
    ) { $0.publish() },
    Scene(
      title: "Nothing has changed: the stored answer, then the origin's word (304) that it still holds.",
      expected: .status(0)
    ) { _ in },
    Scene(
      title: "The origin is down: the stored answer all the same, the failure, and exit status 3.",
      expected: .status(3)
    ) {
      $0.server.stop()
    },
    Scene(title: "The origin is back: stored, then fresh.", expected: .status(0)) {
      $0.publish()
      try $0.server.start()
    },
  ]

  /// Shows the scenes; returns 0 if each ended as it should.
  func run() async throws -> Int32 {
    let origin = try NewsOrigin()
    let folder = try TemporaryFolder()
    var status: Int32 = 0
    for (number, scene) in Self.scenes.enumerated() {
      try scene.prepare(origin)
      say("\n\(number + 1). \(scene.title)\n$ cachefetch \(origin.server.url)/news")
      let exit = try await show(url: "\(origin.server.url)/news", store: folder.file("store.sqlite"))
      if case .status(let code) = exit, code != 0 { say("exit status \(code)") }
      if exit != scene.expected {
        say("error: this scene should have ended with \(scene.expected)")
        status = 1
      }
    }
    return status
  }

  /// On a terminal, the program writes to it directly. In a pipe, the program gets a pseudo-terminal, because the tour
  /// is about the lines it prints for each delivery on a terminal.
  private func show(url: String, store: String) async throws -> ChildProcess.Exit {
    let onTerminal = isatty(1) == 1 && isatty(2) == 1
    let child = try ChildProcess(
      program, [url], environment: ["CACHEFETCH_STORE": store, "NO_COLOR": onTerminal ? nil : "1"],
      output: onTerminal ? .descriptor(1) : .terminal, errors: onTerminal ? .descriptor(2) : .asOutput)
    let finished = await child.finished()
    say(finished.outputText.withPlainLineEnds, terminator: "")
    return finished.exit
  }
}

extension String {
  /// A terminal turns every line end into CR LF, which Swift treats as one character.
  fileprivate var withPlainLineEnds: String { String(map { $0 == "\r\n" ? "\n" : $0 }) }
}
