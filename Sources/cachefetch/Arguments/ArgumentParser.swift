internal import DataService

/// Parses a command line using the table of options. Pure: depends only on its argument.
///
/// Options may stand anywhere, `--name=value` is `--name value`, short options may be combined (`-if`), and `--` ends
/// options. Of an option that is given twice the last counts. The first operand is the verb if it is one; otherwise the
/// verb is `get` and the operand is its first URL.
struct ArgumentParser {
  private var words: ArraySlice<String>
  private var verb: Verb?
  private var options: [Word] = []
  private var operands: [String] = []

  /// An option as it stands on the command line.
  private struct Word {
    let given: Arguments.Given
    let option: Option
    /// How it was written, for messages.
    let written: String
    /// Whether it stands before the verb, as an alias puts it there.
    let isBeforeVerb: Bool
  }

  private init(_ words: [String]) { self.words = words[...] }

  /// Parses `words`, the command line without the program's name.
  static func parse(_ words: [String]) throws(UsageError) -> Arguments {
    var parser = ArgumentParser(words)
    return try parser.parse()
  }

  private mutating func parse() throws(UsageError) -> Arguments {
    while let word = words.popFirst() {
      if word == "--" {
        operands.append(contentsOf: words)
        words = []
      } else if word.hasPrefix("--") {
        try takeLong(word)
      } else if word.hasPrefix("-"), word != "-" {
        try takeLetters(word)
      } else if verb == nil, operands.isEmpty {
        try takeFirstOperand(word)
      } else {
        operands.append(word)
      }
    }
    return try checked()
  }

  private mutating func takeFirstOperand(_ word: String) throws(UsageError) {
    if let known = Verb.named(word) {
      verb = known
    } else if word.isEmpty || word.utf8.contains(where: { $0 == 0x3A || $0 == 0x2F || $0 == 0x2E })
      || word == "localhost" || word == "-"
    {
      operands.append(word)
    } else {
      let isMethod = word.allSatisfy { $0.isUppercase }
      throw UsageError(
        "“\(word)” is neither a verb nor a URL",
        isMethod
          ? "write -X \(word) URL"
          : Suggestion.verb(word).map { "did you mean “\($0)”?" }
            ?? "see cachefetch help, or write https://\(word)")
    }
  }

  private mutating func takeLong(_ word: String) throws(UsageError) {
    let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = OptionName.named(name).map(Option.row) else {
      return try takeForeign("--" + name, value: parts.count == 2 ? String(parts[1]) : nil)
    }
    if parts.count == 2 {
      try add(option, String(parts[1]), written: "--" + name)
    } else {
      try takeValue(of: option, written: "--" + name)
    }
  }

  private mutating func takeLetters(_ word: String) throws(UsageError) {
    var letters = word.dropFirst()
    while let letter = letters.popFirst() {
      guard let option = Option.lettered(letter) else {
        try takeForeign("-\(letter)", value: nil)
        continue
      }
      let isValue = option.mayStandAlone ? Self.isNumber(letters) : option.value != nil && !letters.isEmpty
      if isValue { return try add(option, String(letters), written: "-\(letter)") }
      if option.mayStandAlone, !letters.isEmpty {
        takeFlag(option, written: "-\(letter)")
        continue
      }
      try takeValue(of: option, written: "-\(letter)")
    }
  }

  private mutating func takeValue(of option: Option, written: String) throws(UsageError) {
    if option.value == nil || (option.mayStandAlone && !(words.first.map { Self.isNumber($0[...]) } ?? false))
    {
      return takeFlag(option, written: written)
    }
    guard let text = words.popFirst() else {
      throw UsageError("\(written) has no value", "write \(written) \(option.placeholder)")
    }
    try add(option, text, written: written)
  }

  private mutating func takeFlag(_ option: Option, written: String) {
    take(option, .flag, nil, written)
  }

  private mutating func take(_ option: Option, _ value: OptionValue, _ text: String?, _ written: String) {
    options.append(
      Word(
        given: Arguments.Given(name: option.name, value: value, text: text), option: option, written: written,
        isBeforeVerb: verb == nil && operands.isEmpty))
  }

  /// Takes an option of curl's that means here what it means there, or explains the option.
  private mutating func takeForeign(_ written: String, value: String?) throws(UsageError) {
    switch written {
    case "--url":
      guard let url = value ?? words.popFirst() else {
        throw UsageError("--url has no value", "write --url URL, or the URL alone")
      }
      operands.append(url)
      return
    case _ where value != nil: throw unknown(written)
    case "-s", "--silent": takeFlag(Option.row(.quiet), written: written)
    // Redirects are followed and compressed responses asked for anyway.
    case "-L", "--location": options.removeAll { $0.option.name == .noLocation }
    case "--compressed": options.removeAll { $0.option.name == .noCompressed }
    default: throw unknown(written)
    }
  }

  private static func isNumber(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
  }

  private mutating func add(_ option: Option, _ text: String, written: String) throws(UsageError) {
    take(option, try OptionValue(text, for: option), text, written)
  }

  private func unknown(_ written: String) -> UsageError {
    if let remedy = Suggestion.foreign(written) { return UsageError("there is no option \(written)", remedy) }
    let near = Suggestion.nearest(to: written, among: Option.table.map(\.spelling))
    let help = verb.map { "help \($0.rawValue)" } ?? "help"
    return UsageError(
      "there is no option \(written)", near.map { "did you mean \($0)?" } ?? "see cachefetch \(help)")
  }

  /// Checks the rules that need the whole command line.
  private func checked() throws(UsageError) -> Arguments {
    if options.contains(where: { $0.option.name == .version }) {
      return Arguments(
        verb: .help, options: [Arguments.Given(name: .version, value: .flag, text: nil)], operands: [])
    }
    if options.contains(where: { $0.option.name == .help }) {
      return Arguments(verb: .help, options: [], operands: verb.map { [$0.rawValue] } ?? [])
    }
    let verb = verb ?? .get
    var given: [Arguments.Given] = []
    for word in options {
      if word.option.verbs.contains(VerbSet(verb)) {
        given.append(word.given)
      } else if !(word.isBeforeVerb && VerbSet.asking.contains(VerbSet(verb)) && word.option.isAliased) {
        let remedy =
          word.isBeforeVerb && word.option.isAliased
          ? "leave it out, or write \\cachefetch if it comes from an alias"
          : "see cachefetch help \(verb.rawValue)"
        throw UsageError("\(word.written) does not apply to \(verb.rawValue)", remedy)
      }
    }
    // `-q` and `-v` are one choice.
    if let last = given.last(where: { $0.name == .quiet || $0.name == .verbose }) {
      given.removeAll { ($0.name == .quiet || $0.name == .verbose) && $0.name != last.name }
    }
    try checkOperands(of: verb)
    return Arguments(verb: verb, options: given, operands: operands)
  }

  private func checkOperands(of verb: Verb) throws(UsageError) {
    if operands.count < verb.operandCount.lowerBound, let last = options.last, let text = last.given.text,
      operands.isEmpty, text.contains("://"), ![.proxy, .tier].contains(last.option.name)
    {
      throw UsageError(
        "missing \(verb.operands): \(last.written) has taken it",
        "\(last.written) is followed by \(last.option.placeholder)")
    }
    if operands.count < verb.operandCount.lowerBound {
      throw UsageError(
        "missing \(verb.operands)",
        "usage: cachefetch \(verb == .get ? "" : verb.rawValue + " ")\(verb.operands)")
    }
    if operands.count > verb.operandCount.upperBound {
      let extra = Shown.url(operands[verb.operandCount.upperBound])
      throw UsageError(
        "\(verb.rawValue) takes \(Self.counted(verb.operandCount.upperBound)) (got “\(extra)”)",
        "see cachefetch help \(verb.rawValue)")
    }
  }

  private static func counted(_ operands: Int) -> String {
    switch operands {
    case 0: "no operands"
    case 1: "one operand"
    default: "\(operands) operands"
    }
  }
}
