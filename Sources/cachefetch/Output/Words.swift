/// Figures as people say them.
enum Words {
  /// An age: “just now”, “42 seconds ago”, “3 hours ago”.
  static func age(_ age: Duration) -> String {
    let seconds = age.components.seconds
    if seconds < 1 { return "just now" }
    return "\(span(seconds: seconds)) ago"
  }

  /// A span in its largest unit: “1 second”, “3 hours”, “2 days”.
  static func span(seconds: Int64) -> String {
    let (count, unit): (Int64, String) =
      switch seconds {
      case ..<60: (seconds, "second")
      case ..<3_600: (seconds / 60, "minute")
      case ..<172_800: (seconds / 3_600, "hour")
      case ..<5_184_000: (seconds / 86_400, "day")
      case ..<63_072_000: (seconds / 2_592_000, "month")
      default: (seconds / 31_536_000, "year")
      }
    return "\(count) \(unit)\(count == 1 ? "" : "s")"
  }

  /// The time something took: “3.4 ms”, “120 ms”, “2.5 s”, “3 minutes”.
  static func elapsed(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    switch microseconds {
    case ..<10_000: return "\(tenths(microseconds, of: 1_000)) ms"
    case ..<1_000_000: return "\(microseconds / 1_000) ms"
    case ..<60_000_000: return "\(tenths(microseconds, of: 1_000_000)) s"
    default: return span(seconds: seconds)
    }
  }

  /// A size: “512 B”, “10.2 kB”, “1.4 GB”, in powers of 1,000.
  static func size(_ bytes: Int64) -> String {
    switch bytes {
    case ..<1_000: "\(bytes) B"
    case ..<1_000_000: "\(tenths(bytes, of: 1_000)) kB"
    case ..<1_000_000_000: "\(tenths(bytes, of: 1_000_000)) MB"
    default: "\(tenths(bytes, of: 1_000_000_000)) GB"
    }
  }

  private static func tenths(_ value: Int64, of unit: Int64) -> String {
    "\(value / unit).\(value % unit * 10 / unit)"
  }
}
