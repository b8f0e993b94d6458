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
    last(name) { if case .duration(let duration) = $0 { duration } else { nil } }
  }

  /// The size of an option, in bytes.
  func size(_ name: OptionName) -> Int64? {
    last(name) { if case .size(let size) = $0 { size } else { nil } }
  }

  /// The number of an option.
  func count(_ name: OptionName) -> Int? {
    last(name) { if case .count(let count) = $0 { count } else { nil } }
  }

  private func last<Value>(_ name: OptionName, _ read: (OptionValue) -> Value?) -> Value? {
    for option in options.reversed() where option.name == name {
      if let value = read(option.value) { return value }
    }
    return nil
  }

  /// The single operand of a verb that takes exactly one.
  var operand: String { operands.first ?? "" }
}
