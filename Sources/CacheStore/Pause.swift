/// That an origin asked to be left alone (`Retry-After`): from when on, and how long. No wall clock decides.
public struct Pause: Hashable, Sendable {
  /// The longest that is heard, in milliseconds: an hour, so that no answer silences an origin for good.
  public static let longestMilliseconds: Int64 = 3_600_000

  /// When it was heard.
  public var heard: StartMark
  /// How long it lasts, in milliseconds.
  public var milliseconds: Int64

  /// A pause of an hour at most.
  public init(heard: StartMark, milliseconds: Int64) {
    self.heard = heard
    self.milliseconds = min(max(milliseconds, 0), Self.longestMilliseconds)
  }

  /// What is left of it, in milliseconds, rounded up; `nil` where it is over, of another boot, or from the future.
  public func remaining(at now: StartMark) -> Int64? {
    guard heard.boot == now.boot, heard.nanoseconds <= now.nanoseconds else { return nil }
    let (elapsed, overflow) = now.nanoseconds.subtractingReportingOverflow(heard.nanoseconds)
    guard !overflow, elapsed < milliseconds * 1_000_000 else { return nil }
    return (milliseconds * 1_000_000 - elapsed + 999_999) / 1_000_000
  }
}

/// A pause as it is listed.
public struct StoredPause: Hashable, Sendable {
  /// Whose requests heard it; empty for those without credentials.
  public var account: String
  /// Who asked: `scheme://host[:port]`, and behind a space how it was reached where that was out of the ordinary.
  public var responder: String
  /// From when on, and how long.
  public var pause: Pause

  /// `scheme://host[:port]`.
  public var origin: String { String(responder.prefix { $0 != " " }) }
}
