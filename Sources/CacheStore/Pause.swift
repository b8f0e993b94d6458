/// An origin's `Retry-After`: when it was received, and for how long. No wall clock decides.
package struct Pause: Hashable, Sendable {
  /// The longest pause that is honoured, in milliseconds: an hour, so that no response silences an origin for good.
  package static let longestMilliseconds: Int64 = 3_600_000

  /// When it was received.
  package var heard: StartMark
  /// How long it lasts, in milliseconds.
  package var milliseconds: Int64

  /// A pause, limited to an hour.
  package init(heard: StartMark, milliseconds: Int64) {
    self.heard = heard
    self.milliseconds = min(max(milliseconds, 0), Self.longestMilliseconds)
  }

  /// The remaining milliseconds, rounded up; `nil` where the pause is over, of another boot, or from the future.
  package func remaining(at now: StartMark) -> Int64? {
    guard heard.boot == now.boot, heard.nanoseconds <= now.nanoseconds else { return nil }
    let (elapsed, overflow) = now.nanoseconds.subtractingReportingOverflow(heard.nanoseconds)
    guard !overflow, elapsed < milliseconds * 1_000_000 else { return nil }
    return (milliseconds * 1_000_000 - elapsed + 999_999) / 1_000_000
  }
}

/// A pause as listed.
package struct StoredPause: Hashable, Sendable {
  /// The account whose request received it; empty for requests without credentials.
  package var account: String
  /// The responder: `scheme://host[:port]`, followed by a space and the route where the connection was not an
  /// ordinary one.
  package var responder: String
  /// The start and length of the pause.
  package var pause: Pause
  /// How long it lasts from when it was heard.
  package var length: Duration { .milliseconds(pause.milliseconds) }

  /// `scheme://host[:port]`.
  package var origin: String { String(responder.prefix { $0 != " " }) }
  /// `host[:port]` of a responder.
  package static func host(of responder: String) -> String {
    String(responder.prefix { $0 != " " }.drop { $0 != "/" }.drop { $0 == "/" })
  }
}
