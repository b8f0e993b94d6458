internal import CacheStore
internal import DataService

/// Figures in words.
enum Words {
  /// An age: “just now”, “42 seconds ago”, “3 hours ago”.
  static func age(_ age: Duration) -> String {
    let seconds = age.components.seconds
    if seconds < 1 { return "just now" }
    return "\(span(seconds: seconds)) ago"
  }

  /// A span in its largest unit, rounded: “1 second”, “2 minutes”, “3 hours”, “2 days”.
  static func span(seconds: Int64) -> String {
    switch seconds {
    case ..<60: Counted.text(seconds, "second")
    case ..<3_570: Counted.text((seconds + 30) / 60, "minute")
    case ..<171_000: Counted.text((seconds + 1_800) / 3_600, "hour")
    case ..<5_140_800: Counted.text((seconds + 43_200) / 86_400, "day")
    case ..<60_912_000: Counted.text((seconds + 1_296_000) / 2_592_000, "month")
    default: Counted.text((seconds + 15_768_000) / 31_536_000, "year")
    }
  }

  /// A configured span, in the largest unit that is exact: “90 days”, “36 hours”, “1500 ms”.
  static func exactly(_ span: Duration) -> String {
    let milliseconds = span.milliseconds
    let units: [(length: Int64, name: String)] = [
      (86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"),
    ]
    guard let unit = units.first(where: { milliseconds % $0.length == 0 }) else {
      return "\(milliseconds) ms"
    }
    return Counted.text(milliseconds / unit.length, unit.name)
  }

  /// A span in its two largest units, rounded: “1 minute 58 s”, “2 hours 5 minutes”.
  private static func longSpan(seconds: Int64) -> String {
    if seconds < 3_600 {
      let rest = seconds % 60
      return Counted.text(seconds / 60, "minute") + (rest == 0 ? "" : " \(rest) s")
    }
    let minutes = (seconds + 30) / 60
    let rest = minutes % 60
    if minutes >= 2 * 24 * 60 { return span(seconds: seconds) }
    return Counted.text(minutes / 60, "hour") + (rest == 0 ? "" : " " + Counted.text(rest, "minute"))
  }

  /// The time something took: “3.4 ms”, “120 ms”, “2.5 s”, “1 minute 58 s”.
  static func elapsed(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    // A sum of a store's counts may be so long that its microseconds would overflow.
    let counted = min(seconds, 9_000_000_000_000)
    let microseconds = counted * 1_000_000 + attoseconds / 1_000_000_000_000
    switch microseconds {
    case ..<9_950: return "\(tenths(microseconds, of: 1_000)) ms"
    case ..<999_500: return "\((microseconds + 500) / 1_000) ms"
    case ..<59_950_000: return "\(tenths(microseconds, of: 1_000_000)) s"
    default: return longSpan(seconds: (microseconds + 500_000) / 1_000_000)
    }
  }

  /// “stale” of a response that is, if the server has given the lifetime that has passed.
  static func stale(_ fields: HTTPFields) -> [String] {
    let isGiven = CacheControl(fields: fields).maxAge != .absent || fields["Expires"] != nil
    return isGiven ? ["stale"] : []
  }

  /// Why a response is not in the store, behind “not kept:”; the name that JSON has where there are no words for it.
  static func unkept(_ reason: DataService.KeptReason) -> String {
    switch reason {
    case .noStore: "no-store"
    case .busy: "the store is busy"
    case .full: "no room"
    case .readOnly: "the store is only read"
    case .corrupt: "the store is damaged"
    case .unusable: "the store cannot be used"
    case .status: "its status"
    case .method: "its method"
    case .passThrough: "such requests bypass the store"
    case .superseded: "a newer one is stored, or it was removed meanwhile"
    case .tooLarge: "too large"
    case .portal: "it may come from a captive portal"
    case .mediaType: "its media type"
    case .undecodable: "it cannot be decoded"
    case .signedOut: "the account is signed out"
    case .vary: "Vary: *"
    case .elsewhere: "it is on the server that machines share"
    case .notStorable: "not storable under http"
    default: reason.name
    }
  }

  /// “1 entry”, “2 entries”.
  static func entries(_ count: Int) -> String { Counted.text(count, "entry", "entries") }

  /// A size: “512 B”, “10.2 kB”, “1.4 GB”, in powers of 1,000.
  static func size(_ bytes: Int64) -> String {
    switch bytes {
    case ..<1_000: "\(bytes) B"
    case ..<999_950: "\(tenths(bytes, of: 1_000)) kB"
    case ..<999_950_000: "\(tenths(bytes, of: 1_000_000)) MB"
    default: "\(tenths(bytes, of: 1_000_000_000)) GB"
    }
  }

  private static func tenths(_ value: Int64, of unit: Int64) -> String {
    let tenths = value / unit * 10 + (value % unit * 10 + unit / 2) / unit
    return "\(tenths / 10).\(tenths % 10)"
  }
}
