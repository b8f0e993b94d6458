internal import CacheStore
internal import DataService

/// `completions`: prints a shell's script, or the candidates the script asks for.
enum CompletionsCommand {
  /// The operand with which the scripts ask: `completions candidates -- WORD…`.
  static let question = "candidates"

  /// The operand with which bash's script asks: `completions bash-candidates -- BREAKS LINE`.
  private static let bashQuestion = "bash-candidates"

  static func run(_ arguments: Arguments, _ diagnostics: Diagnostics) throws(UsageError) -> ExitStatus {
    if arguments.operand == question { return candidates(arguments) }
    if arguments.operand == bashQuestion { return bashCandidates(arguments) }
    guard arguments.operands.count == 1, let shell = CompletionScript.Shell(rawValue: arguments.operand)
    else {
      let shown = TerminalText.visible(arguments.operands.joined(separator: " "))
      throw UsageError("no completions for “\(shown)”", "write bash, zsh or fish")
    }
    return Output.write(Array(CompletionScript.text(shell).utf8), diagnostics)
  }

  /// Prints nothing on standard error, since it runs while the user types.
  private static func candidates(_ arguments: Arguments) -> ExitStatus {
    let words = Array(arguments.operands.dropFirst())
    let found = completer(arguments, words).candidates(words)
    let lines = found.map { candidate in
      // A name that contains a line break would become two candidates.
      let text = TerminalText.visible(candidate.text)
      return candidate.help.isEmpty ? text : "\(text)\t\(candidate.help)"
    }
    return Output.write(lines.flatMap { Array($0.utf8) + [0x0A] }, Diagnostics(isQuiet: true))
  }

  /// The texts bash inserts, one on each line.
  private static func bashCandidates(_ arguments: Arguments) -> ExitStatus {
    let operands = arguments.operands.dropFirst()
    let line = BashLine(operands.last ?? "", breaks: operands.count > 1 ? operands.first ?? "" : "")
    let words = Array(line.words.dropFirst())
    let found = completer(arguments, words).candidates(words)
    let lines = found.compactMap { line.replacement(for: $0.text) }
    return Output.write(lines.flatMap { Array($0.utf8) + [0x0A] }, Diagnostics(isQuiet: true))
  }

  /// What completes `words`, from the store that they name.
  private static func completer(_ arguments: Arguments, _ words: [String]) -> Completer {
    let entries = Entries(naming(Completer.store(in: words), arguments))
    return Completer(
      stored: Completer.Stored(
        accounts: {
          entries.select().map(\.key.account).filter { !$0.isEmpty && !$0.hasPrefix("auto:") }.uniqued()
        },
        tags: { entries.select().flatMap(\.tags).uniqued() },
        keys: { prefix in
          entries.select(prefix: Entries.mark + prefix).map(\.key.target)
            .filter { $0.hasPrefix(Entries.mark) }.map { String($0.dropFirst(Entries.mark.count)) }.uniqued()
        },
        urls: { prefix in
          entries.select(prefix: prefix).map(\.key.target).filter { !$0.hasPrefix(Entries.mark) }.uniqued()
        }))
  }

  /// The arguments with the store of the line that is typed.
  private static func naming(_ store: String?, _ arguments: Arguments) -> Arguments {
    guard let store, !store.isEmpty else { return arguments }
    let given = Arguments.Given(name: .store, value: .text(store), text: store)
    return Arguments(
      verb: arguments.verb, options: arguments.options + [given], operands: arguments.operands)
  }

  private struct Entries {
    private let configuration: StoreConfiguration
    /// The prefix of a custom key given in place of a URL.
    static let mark = "key:"

    init(_ arguments: Arguments) {
      configuration = StoreLocation.configuration(arguments)
    }

    /// The rows whose target begins with `prefix`; none if the store cannot be read.
    func select(prefix: String = "") -> [StoredEntry] {
      var selection = EntrySelection()
      if !prefix.isEmpty { selection.prefix = prefix }
      var configuration = configuration
      configuration.isReadOnly = true
      let store = ResponseStore(configuration: configuration)
      let chosen = selection
      let result = Await.result { () async throws(CacheStoreError) in try await store.entries(chosen) }
      guard case .success(let entries) = result else { return [] }
      return entries
    }
  }
}

extension Sequence<String> {
  /// The distinct elements, sorted, at most 1,000.
  fileprivate func uniqued() -> [String] { Array(Set(self).sorted().prefix(1000)) }
}
