import TestSupport

/// A terminal of a given size with a person's hands and eyes: tmux, on a socket of its own.
final class TmuxScreen {
  private let socket: String
  private let folder: TemporaryFolder
  /// What is shown runs in its folder.
  private let shell: Shell
  private static let program = "/usr/bin/tmux"

  /// Opens a terminal in which `line` is run by `sh`; `SIGNAL NAME` in it wakes `wait(for:)`.
  init(width: Int, height: Int = 24, shell: Shell, line: String) async throws {
    self.shell = shell
    folder = try TemporaryFolder()
    socket = folder.file("tmux")
    let tmux = "\(Self.program) -S \(socket)"
    let script = line.replacing("SIGNAL", with: "\(tmux) wait-for -S")
    let path = try folder.write("export PS1='$ '\n\(script)\n", to: "script")
    var environment = shell.environment
    environment["NO_COLOR"] = "1"
    environment["TMUX"] = .some(nil)
    environment["HISTFILE"] = "/dev/null"
    let run = try await ChildProcess.run(
      Self.program,
      [
        "-f", "/dev/null", "-S", socket, "new-session", "-d", "-x", "\(width)", "-y", "\(height)",
        "sh \(path)",
      ],
      environment: environment, directory: shell.store.folder.path)
    guard run.status == 0 else { throw Failed(text: run.errorText) }
  }

  deinit {
    // Waited for: without it the socket goes before it has been told.
    let child = try? ChildProcess(Self.program, ["-S", socket, "kill-server"])
    child?.end()
  }

  struct Failed: Error { let text: String }

  private func tmux(_ words: String...) async throws -> ChildProcess.Finished { try await tmux(words) }

  private func tmux(_ words: [String]) async throws -> ChildProcess.Finished {
    try await ChildProcess.run(Self.program, ["-S", socket] + words)
  }

  /// Suspends until the script gets to `SIGNAL NAME`.
  func wait(for name: String) async throws { _ = try await tmux("wait-for", name) }

  /// Types keys, as tmux names them.
  func type(_ keys: String...) async throws {
    _ = try await ChildProcess.run(Self.program, ["-S", socket, "send-keys"] + keys)
  }

  /// Changes the size.
  func resize(width: Int) async throws { _ = try await tmux("resize-window", "-x", "\(width)") }

  /// What is to be seen: lines without the blanks at their ends, empty ones at the end left out.
  func text() async throws -> String { try await captured() }

  /// The same with what has gone over the upper edge, as it does where a window made narrower breaks lines in two.
  func history() async throws -> String { try await captured("-S", "-") }

  private func captured(_ range: String...) async throws -> String {
    let shown = try await tmux(["capture-pane", "-p"] + range).outputText
    var lines = shown.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    while lines.last?.isEmpty == true { lines.removeLast() }
    return lines.joined(separator: "\n")
  }

  /// Suspends until the screen shows a text.
  func shows(_ text: String) async throws -> Bool { try await self.text(showing: text).contains(text) }

  /// What is to be seen as soon as a text is part of it: a look of its own might find the next thing half drawn.
  func text(showing part: String) async throws -> String {
    while true {
      let shown = try await text()
      if Task.isCancelled || shown.contains(part) { return shown }
    }
  }
}
