import FixtureServer
import TestSupport
import Testing

@testable import cachefetch

/// Five lines, completed by each shell itself.
@Suite("Completion: the real shells", .timeLimit(.minutes(2))) struct ShellCompletionTests {
  /// What is typed, and what is among the candidates; `URL` stands for the stored one.
  private static let lines: [(line: String, candidates: [String])] = [
    ("cachefetch sig", ["sign-out"]), ("cachefetch list --so", ["--sort"]),
    ("cachefetch --policy fresh-o", ["fresh-only"]), ("cachefetch list --account al", ["alice"]),
    ("cachefetch show ht", ["URL"]),
  ]

  /// A shell with one stored answer of alice, and the program on its path.
  private func prepared() async throws -> (shell: Shell, origin: ChangingOrigin) {
    var shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run("--account", "alice", "--tag", "news", origin.url)
    let folder = try BuiltProduct.cachefetch().split(separator: "/").dropLast().joined(separator: "/")
    shell.environment["PATH"] = "/\(folder):/usr/bin:/bin"
    shell.environment["HOME"] = shell.store.folder.path
    shell.environment["TERM"] = "dumb"
    for name in CompletionScript.Shell.allCases {
      try shell.store.folder.write(CompletionScript.text(name), to: "_cachefetch.\(name.rawValue)")
    }
    return (shell, origin)
  }

  private func check(_ program: String, script: (_ line: String) -> String) async throws {
    let (shell, origin) = try await prepared()
    for (line, candidates) in Self.lines {
      let run = try await ChildProcess.run(
        program, program.hasSuffix("zsh") ? ["-f", "-c", script(line)] : ["-c", script(line)],
        environment: shell.environment, directory: shell.store.folder.path)
      let words = run.outputText.split(whereSeparator: {
        $0.isWhitespace || $0.isNewline || "<>".contains($0)
      }).map(String.init)
      for candidate in candidates {
        let wanted = candidate == "URL" ? origin.url : candidate
        // bash replaces only what follows the colon.
        let cut = wanted.firstIndex(of: ":").map { String(wanted[wanted.index(after: $0)...]) } ?? wanted
        #expect(
          words.contains(wanted) || (program.hasSuffix("bash") && words.contains(cut)),
          "\(program), \(line): \(run.outputText) \(run.errorText)")
      }
    }
  }

  @Test func `bash completes`() async throws {
    try await check("/bin/bash") { line in
      """
      source _cachefetch.bash
      COMP_LINE='\(line)' COMP_POINT=${#COMP_LINE}
      COMP_POINT=\(line.count)
      _cachefetch
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    }
  }

  @Test func `fish completes`() async throws {
    try await check("/usr/bin/fish") { line in
      """
      source _cachefetch.fish
      complete -C '\(line)'
      """
    }
  }

  @Test func `zsh completes`() async throws {
    // zsh completes only where somebody types: a second zsh does, on a pseudo-terminal of zsh's own.
    try await check("/usr/bin/zsh") { line in
      """
      zmodload zsh/zpty
      zpty z zsh -f -i
      zpty -w z "PROMPT=; autoload -Uz compinit; compinit -D -u; source ./_cachefetch.zsh; setopt no_list_beep"
      zpty -w z "shown() { print -r -- \\"<\\$BUFFER>\\" }; zle -N shown; bindkey '^T' shown"
      zpty -w z "zle-line-init() { print REA\\"\\"DY }; zle -N zle-line-init"
      zpty -r -m z text '*READY*'
      zpty -w -n z $'\(line)\\t\\C-t'
      zpty -r -m z text '*<*>*'
      print -r -- "$text"
      zpty -d z
      """
    }
  }
}
