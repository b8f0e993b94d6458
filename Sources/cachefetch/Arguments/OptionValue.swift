/// An option's value, checked against what the table says it must be.
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
    switch kind {
    case .text, .file, .account, .tag:
      guard !text.isEmpty || option.name == .data || option.name == .dataBinary else {
        throw UsageError(
          "\(option.spelling) has an empty value", "write \(option.spelling) \(option.placeholder)")
      }
      self = .text(text)
    case .duration:
      guard let duration = DurationText.parse(text) else {
        throw UsageError(
          "\(option.spelling) “\(text)” is not a duration",
          "write a number and a unit: 500ms, 30s, 5m, 2h, 7d")
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
          "\(option.spelling) “\(text)” is not a number it takes",
          "write one from \(range.lowerBound) to \(range.upperBound)")
      }
      self = .count(count)
    case .choice(let choices):
      guard choices.contains(text) else {
        let remedy = Suggestion.nearest(to: text, among: choices).map { "did you mean \($0)?" }
        throw UsageError(
          "\(option.spelling) knows no “\(text)”", remedy ?? "write one of \(choices.joined(separator: ", "))"
        )
      }
      self = .text(text)
    }
  }
}
