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
