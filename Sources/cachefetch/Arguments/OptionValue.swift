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

/// Sizes as text: `64k`, `10M`, `1G`, in powers of 1,024; a bare number is bytes.
enum SizeText {
  /// Parses a number of bytes; `nil` if `text` is not a size.
  static func parse(_ text: String) -> Int64? {
    let digits = text.utf8.prefix { $0 >= 0x30 && $0 <= 0x39 || $0 == 0x2E }
    let scale: Int64? =
      switch text.dropFirst(digits.count).lowercased() {
      case "", "b": 1
      case "k", "kb", "kib": 1 << 10
      case "m", "mb", "mib": 1 << 20
      case "g", "gb", "gib": 1 << 30
      case "t", "tb", "tib": 1 << 40
      default: nil
      }
    guard let scale else { return nil }
    return DurationText.scaled(String(digits) ?? "", by: scale)
  }

  /// A number of bytes as ``parse(_:)`` reads it, in the largest unit that it is a multiple of.
  static func text(_ bytes: Int64) -> String {
    for (unit, shift) in [("G", 30), ("M", 20), ("k", 10)] where bytes % (1 << shift) == 0 {
      return "\(bytes >> shift)\(unit)"
    }
    return String(bytes)
  }
}

/// Durations as text: `500ms`, `30s`, `5m`, `2h`, `7d`; a bare number is seconds, as in curl.
enum DurationText {
  private static let units: [(name: String, milliseconds: Int64)] = [
    ("", 1_000), ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
  ]

  /// Parses a duration of at most a hundred years; `nil` if `text` is not one.
  static func parse(_ text: String) -> Duration? {
    let digits = text.utf8.prefix { $0 >= 0x30 && $0 <= 0x39 || $0 == 0x2E }
    let unit = String(text.dropFirst(digits.count))
    guard let scale = units.first(where: { $0.name == unit })?.milliseconds,
      let milliseconds = scaled(String(digits) ?? "", by: scale), milliseconds <= 100 * 365 * 86_400_000
    else { return nil }
    return .milliseconds(milliseconds)
  }

  /// Whether `text` is a well-formed duration longer than ``parse(_:)`` accepts.
  static func isTooLong(_ text: String) -> Bool {
    let digits = text.utf8.prefix { $0 >= 0x30 && $0 <= 0x39 || $0 == 0x2E }
    let whole = digits.prefix { $0 != 0x2E }
    let isNumber = !whole.isEmpty && digits.count { $0 == 0x2E } <= 1 && digits.last != 0x2E
    let unit = String(text.dropFirst(digits.count))
    return isNumber && whole.count > 4 && units.contains { $0.name == unit } && parse(text) == nil
  }

  /// `1.5` times `scale`, exact and rounded down; `nil` if the digits are not a number or are too many.
  static func scaled(_ digits: String, by scale: Int64) -> Int64? {
    let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, let first = parts.first, !first.isEmpty, let whole = Int64(first) else {
      return nil
    }
    let (product, overflows) = whole.multipliedReportingOverflow(by: scale)
    guard !overflows else { return nil }
    guard parts.count == 2 else { return product }
    guard (1...6).contains(parts[1].count), let fraction = Int64(parts[1]) else { return nil }
    let power = (0..<parts[1].count).reduce(Int64(1)) { power, _ in power * 10 }
    // At most 999,999 TiB, which fits in 64 bits.
    let (sum, sumOverflows) = product.addingReportingOverflow(fraction * scale / power)
    return sumOverflows ? nil : sum
  }
}
