/// Computes the candidates for the word being typed. Pure: depends only on its arguments.
struct Completer {
  /// One candidate, with a short help text for shells that show it.
  struct Candidate: Hashable {
    let text: String
    var help = ""
  }

  /// Reads the store, only if candidates come from it.
  struct Stored {
    var accounts: () -> [String] = { [] }
    var tags: () -> [String] = { [] }
    /// Custom keys that begin with `prefix`.
    var keys: (_ prefix: String) -> [String] = { _ in [] }
    /// URLs that begin with `prefix`.
    var urls: (_ prefix: String) -> [String] = { _ in [] }
  }

  let stored: Stored

  /// The store that `--store` names on the command line being typed, up to the word before the current one.
  static func store(in words: [String]) -> String? { State(Array(words.dropLast())).store }

  /// The candidates for the last of `words`, the command line without the program's name, up to the cursor.
  func candidates(_ words: [String]) -> [Candidate] {
    guard let current = words.last else { return [] }
    let before = Array(words.dropLast())
    let state = State(before)
    if let option = state.awaiting { return values(of: option, beginning: current) }
    if state.endsOptions { return operands(of: state, beginning: current) }
    if current.hasPrefix("--"), let equals = current.firstIndex(of: "=") {
      let name = String(current[..<equals])
      guard let option = Option.table.first(where: { $0.spelling == name }) else { return [] }
      return values(of: option, beginning: String(current[current.index(after: equals)...])).map {
        Candidate(text: "\(name)=\($0.text)", help: $0.help)
      }
    }
    if current.hasPrefix("-") { return options(of: state.verb ?? .get, beginning: current) }
    return operands(of: state, beginning: current)
  }

  /// The state after the words before the current one.
  private struct State {
    var verb: Verb?
    var operandCount = 0
    var endsOptions = false
    /// The option whose value is expected next.
    var awaiting: Option?
    /// The value of `--store`.
    var store: String?

    init(_ words: [String]) {
      var mayFollowNumber = false
      for word in words {
        let isNumber = !word.isEmpty && word.utf8.allSatisfy { (0x30...0x39).contains($0) }
        if mayFollowNumber, isNumber {
          mayFollowNumber = false
          continue
        }
        mayFollowNumber = false
        if let option = awaiting {
          if option.name == .store { store = word }
          awaiting = nil
        } else if endsOptions || !word.hasPrefix("-") || word == "-" {
          take(operand: word)
        } else if word == "--" {
          endsOptions = true
        } else if word.hasPrefix("--") {
          let option = Option.table.first { $0.spelling == word }
          let naming = Option.row(.store).spelling + "="
          if word.hasPrefix(naming) { store = String(word.dropFirst(naming.count)) }
          mayFollowNumber = option?.mayStandAlone == true
          awaiting = option?.value == nil || mayFollowNumber ? nil : option
        } else {
          awaiting = Self.awaiting(afterLetters: word.dropFirst())
          mayFollowNumber = awaiting?.mayStandAlone == true
          if mayFollowNumber { awaiting = nil }
        }
      }
    }

    private mutating func take(operand: String) {
      if verb == nil, operandCount == 0, let named = Verb.named(operand) {
        verb = named
      } else {
        operandCount += 1
      }
    }

    private static func awaiting(afterLetters letters: Substring) -> Option? {
      for (index, letter) in letters.enumerated() {
        guard let option = Option.lettered(letter) else { return nil }
        if option.value != nil { return index == letters.count - 1 ? option : nil }
      }
      return nil
    }
  }

  private func options(of verb: Verb, beginning prefix: String) -> [Candidate] {
    let known = HelpText.options(of: verb)
    if prefix == "-" || prefix.hasPrefix("--") {
      return known.filter { $0.spelling.hasPrefix(prefix) }.map {
        Candidate(text: $0.spelling, help: $0.help(for: verb))
      }
    }
    return known.filter { option in option.short.map { prefix == "-\($0)" } ?? false }
      .map { Candidate(text: prefix, help: $0.help(for: verb)) }
  }

  private func values(of option: Option, beginning prefix: String) -> [Candidate] {
    let texts: [String] =
      switch option.value {
      case .choice(let choices): choices
      case .account: stored.accounts()
      case .tag: stored.tags()
      case .text where option.name == .prefix: stored.urls(prefix)
      case .text where option.name == .key: stored.keys(prefix)
      case .text where option.name == .method: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
      default: []
      }
    return texts.filter { $0.hasPrefix(prefix) }.map { Candidate(text: $0) }
  }

  private func operands(of state: State, beginning prefix: String) -> [Candidate] {
    switch state.verb {
    case nil:
      let verbs =
        state.operandCount > 0
        ? []
        : Verb.allCases.filter { $0.rawValue.hasPrefix(prefix) }
          .map { Candidate(text: $0.rawValue, help: $0.summary) }
      return verbs + urls(prefix)
    case .get, .watch, .preload: return urls(prefix)
    case .diff, .explain: return state.operandCount == 0 ? urls(prefix) : []
    case .rm, .unmark: return urls(prefix) + keys(prefix)
    case .show: return state.operandCount == 0 ? urls(prefix) + keys(prefix) : []
    case .completions:
      return CompletionScript.Shell.allCases.map(\.rawValue).filter { $0.hasPrefix(prefix) }
        .map { Candidate(text: $0) }
    case .help:
      return
        (Verb.allCases.map { Candidate(text: $0.rawValue, help: $0.summary) }
        + [
          Candidate(text: "tier", help: "sharing responses through Redis"),
          Candidate(text: "manual", help: "the manual page"),
        ]).filter { $0.text.hasPrefix(prefix) }
    case .serve, .list, .signOut, .stats, .report, .limits, .doctor, .export, .import: return []
    }
  }

  private func urls(_ prefix: String) -> [Candidate] { stored.urls(prefix).map { Candidate(text: $0) } }

  /// Custom keys as `list` shows them: `key:NAME`.
  private func keys(_ prefix: String) -> [Candidate] {
    let mark = "key:"
    guard prefix.hasPrefix(mark) || mark.hasPrefix(prefix) else { return [] }
    return stored.keys(String(prefix.dropFirst(mark.count))).map { Candidate(text: mark + $0) }
  }
}
