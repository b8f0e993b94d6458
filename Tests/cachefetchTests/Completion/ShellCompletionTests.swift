import FixtureServer
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

/// Some lines, completed by each shell itself.
@Suite("Completion: the real shells", .inTurn) struct ShellCompletionTests {
  /// What is typed, and what is among the candidates; `URL` stands for the stored one.
  private static let lines: [(line: String, candidates: [String])] = [
    ("cachefetch sig", ["sign-out"]), ("cachefetch list --so", ["--sort"]),
    ("cachefetch --policy fresh-o", ["fresh-only"]), ("cachefetch list --account al", ["alice"]),
    ("cachefetch show ht", ["URL"]), ("cachefetch show ke", ["key:own"]), ("cachefetch rm --key o", ["own"]),
  ]

  /// A shell with one stored answer of alice, and the program on its path.
  private func prepared() async throws -> (shell: Shell, origin: ChangingOrigin) {
    var shell = try Shell()
    let origin = try ChangingOrigin()
    _ = try await shell.run("--account", "alice", "--tag", "news", origin.url)
    _ = try await shell.run("--key", "own", origin.url)
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

  /// What means something to a shell, and may stand in a URL all the same.
  private static let path = "/q;id?x=1&y=$(id)&z=it's!~*%20%24%7BIFS%7D"

  /// Shows the last argument of what is run, and leaves questions of the completion to the program.
  private static let shown = """
    cachefetch() {
      if [[ $1 = completions ]]; then command cachefetch "$@"; else printf '<%s>\\n' "${@: -1}"; fi
    }

    """

  @Test("What bash puts on the line is one word, in quotation marks or not", arguments: ["", "'", "\""])
  func bash(quote: String) async throws {
    let setup = """
      PS1=
      bind 'set enable-bracketed-paste off'
      source ./_cachefetch.bash
      echo REA''DY

      """
    try await checkInserted(quote, by: "bash --norc --noprofile -i", setup: setup)
  }

  @Test("What zsh puts on the line is one word, in quotation marks or not", arguments: ["", "'", "\""])
  func zsh(quote: String) async throws {
    let setup = """
      PROMPT=
      autoload -Uz compinit
      compinit -D -u
      source ./_cachefetch.zsh
      setopt no_list_beep
      zle-line-init() { print REA''DY }
      zle -N zle-line-init

      """
    try await checkInserted(quote, by: "zsh -f -i", setup: setup)
  }

  @Test("fish is given the URL whatever quotation mark it began with", arguments: ["", "'", "\""])
  func fish(quote: String) async throws {
    let (shell, origin) = try await prepared()
    _ = try await shell.run("-q", origin.server.url + Self.path)
    let line = "cachefetch show \(quote)\(origin.server.url)/q"
    let run = try await ChildProcess.run(
      "/usr/bin/fish", ["-c", "source _cachefetch.fish; complete -C $argv[1]", line],
      environment: shell.environment, directory: shell.store.folder.path)
    #expect(run.lines.contains(origin.server.url + Self.path), "\(run.outputText) \(run.errorText)")
  }

  /// Types the beginning of the URL, Tab and Enter, and looks at what the command was given.
  private func checkInserted(_ quote: String, by program: String, setup: String) async throws {
    let (shell, origin) = try await prepared()
    let url = origin.server.url + Self.path
    _ = try await shell.run("-q", url)
    try shell.store.folder.write(Self.shown + setup, to: "setup")
    try shell.store.folder.write("cachefetch show \(quote)\(origin.server.url)/q\t\r", to: "typed")
    // A shell completes only where somebody types: it runs on a pseudo-terminal of zsh's.
    let script = """
      zmodload zsh/zpty
      zpty z \(program)
      zpty -w z 'source ./setup'
      zpty -r -m z text '*READY*'
      zpty -w -n z "$(<typed)"
      zpty -r -m z text '*<http*>*'
      print -r -- "$text"
      zpty -d z
      """
    let run = try await ChildProcess.run(
      "/usr/bin/zsh", ["-f", "-c", script], environment: shell.environment,
      directory: shell.store.folder.path)
    #expect(run.outputText.contains("<\(url)>"), "\(run.outputText) \(run.errorText)")
  }

  @Test func `bash completes`() async throws {
    try await check("/bin/bash") { line in
      """
      source _cachefetch.bash
      COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
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
      zpty -w z "PROMPT=; autoload -Uz compinit; compinit -u -d ./dump; source ./_cachefetch.zsh; setopt no_list_beep"
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
