/// A parsed command line: the verb, the options with their checked values, the operands.
struct Arguments: Sendable {
  /// An option as given.
  struct Given: Sendable, Hashable {
    let name: OptionName
    let value: OptionValue
    /// The value as written; `nil` for a flag.
    let text: String?
  }

  let verb: Verb
  /// In the order given.
  let options: [Given]
  let operands: [String]

  /// Whether a flag, or an option at all, was given.
  func has(_ name: OptionName) -> Bool { options.contains { $0.name == name } }

  /// The text of an option; the last one given counts.
  func text(_ name: OptionName) -> String? { texts(name).last }

  /// Every text given for an option.
  func texts(_ name: OptionName) -> [String] {
    options.compactMap { option in
      if option.name == name, case .text(let text) = option.value { text } else { nil }
    }
  }

  /// The duration of an option.
  func duration(_ name: OptionName) -> Duration? {
    for option in options.reversed() where option.name == name {
      if case .duration(let duration) = option.value { return duration }
    }
    return nil
  }

  /// The size of an option, in bytes.
  func size(_ name: OptionName) -> Int64? {
    for option in options.reversed() where option.name == name {
      if case .size(let size) = option.value { return size }
    }
    return nil
  }

  /// The number of an option.
  func count(_ name: OptionName) -> Int? {
    for option in options.reversed() where option.name == name {
      if case .count(let count) = option.value { return count }
    }
    return nil
  }

  /// The single operand of a verb that takes exactly one.
  var operand: String { operands.first ?? "" }
}
