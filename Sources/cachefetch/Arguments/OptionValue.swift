/// An option's value, checked against its row of the table.
enum OptionValue: Sendable, Hashable {
  case flag
  case text(String)
  case duration(Duration)
  case size(Int64)
  case count(Int)

  /// Reads `text` as the option's kind of value.
  init(_ text: String, for option: Option) throws(UsageError) {
    guard let kind = option.value else {
      throw UsageError("\(option.spelling) takes no value", "write \(option.spelling) alone")
    }
    // `limits` can remove a limit of the store; the option's other verbs refuse the word.
    if text == "none", [.bytes, .rows, .olderThan].contains(option.name) {
      self = .text(text)
      return
    }
    switch kind {
    case .text, .file, .account, .tag:
      guard !text.isEmpty || option.name == .data || option.name == .dataBinary else {
        // With curl an empty proxy is none.
        let remedy =
          option.name == .proxy
          ? "set no_proxy='*' to use no proxy" : "write \(option.spelling) \(option.placeholder)"
        throw UsageError("\(option.spelling) has an empty value", remedy)
      }
      self = .text(text)
    case .tier:
      try TierChoice.check(text)
      self = .text(text)
    case .duration:
      guard let duration = DurationText.parse(text) else {
        if DurationText.isTooLong(text) {
          throw UsageError("\(option.spelling) “\(text)” is too long", "write at most 36500d")
        }
        throw UsageError(
          "\(option.spelling) “\(text)” is not a duration",
          "write a number and a unit, or seconds: 500ms, 30s, 5m, 2h, 7d, 30")
      }
      self = .duration(duration)
    case .size:
      guard let size = SizeText.parse(text) else {
        throw UsageError(
          "\(option.spelling) “\(text)” is not a size", "write a number and a unit: 64k, 10M, 1G")
      }
      self = .size(size)
    case .count(let range):
      guard let count = Int(text), range.contains(count) else {
        throw UsageError(
          "\(option.spelling) “\(text)” is out of range",
          "write a number from \(range.lowerBound) to \(range.upperBound)")
      }
      self = .count(count)
    case .choice(let choices):
      guard choices.contains(text) else {
        let remedy =
          option.name == .policy && text == "stored-else-fresh"
          ? "write --max-age D" : Suggestion.nearest(to: text, among: choices).map { "did you mean \($0)?" }
        throw UsageError(
          "invalid value “\(text)” for \(option.spelling)",
          remedy ?? "write one of \(choices.joined(separator: ", "))")
      }
      self = .text(text)
    }
  }
}
