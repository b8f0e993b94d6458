/// The tier's clock in terms of this machine's clock since boot.
///
/// A reply that carries the tier's time was written between the sending of its request and its own arrival, so the
/// difference of the clocks lies between two numbers. The closest pair of the last minute counts. All instants are
/// nanoseconds; the tier's time is given in microseconds.
struct TierClock: Sendable {
  private struct Sample {
    let lowest: Int64
    let highest: Int64
    let received: Int64
  }

  /// Two crystals drift apart by up to some 100 µs a minute; more than this is a clock that was set.
  private static let lifetime: Int64 = 60_000_000_000
  private static let drift: Int64 = 10_000_000

  private var sample: Sample?

  /// The scripts' numbers are exact below this.
  static let largestTicket: Int64 = 1 << 53

  /// Whether a server's clock can show that time. A time is a ticket too, so a larger one cannot be true.
  static func isTime(_ microseconds: Int64) -> Bool { microseconds > 0 && microseconds < largestTicket }

  /// Whether a server's time is near this machine's wall clock, in milliseconds since 1970. With another one it could
  /// make a pause last for ever, or an old row young.
  static func isNear(_ microseconds: Int64, _ wallMilliseconds: Int64) -> Bool {
    abs(microseconds / 1_000 - wallMilliseconds) <= 300_000
  }

  /// What is said of another one.
  static let farAway = "its clock is more than five minutes from this machine's"

  /// Learns from a reply with the tier's time.
  mutating func learn(tierMicroseconds: Int64, sent: Int64, received: Int64) {
    let time = Self.nanoseconds(tierMicroseconds)
    let new = Sample(
      lowest: time.subtractingSaturated(received), highest: time.subtractingSaturated(sent),
      received: received)
    if let old = sample, received - old.received < Self.lifetime,
      old.highest - old.lowest <= new.highest - new.lowest,
      // If the two ranges do not overlap, the tier's clock was set.
      new.lowest <= old.highest + Self.drift, old.lowest <= new.highest + Self.drift
    {
      return
    }
    sample = new
  }

  /// A lower bound of the tier's time now, in microseconds; `nil` before it is known.
  func tierMicroseconds(at instant: Int64) -> Int64? {
    sample.map { instant.addingSaturated($0.lowest) / 1_000 }
  }

  /// A ticket's instant on this machine's clock: a lower bound, no later than `limit`, and no earlier than the boot.
  func instant(of ticket: Int64, notAfter limit: Int64) -> Int64 {
    guard let sample else { return limit }
    return max(0, min(limit, Self.nanoseconds(ticket).subtractingSaturated(sample.highest)))
  }

  private static func nanoseconds(_ microseconds: Int64) -> Int64 {
    let (product, overflow) = microseconds.multipliedReportingOverflow(by: 1_000)
    return overflow ? .max / 2 : product
  }
}

extension Int64 {
  fileprivate func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? .max : .min) : sum
  }

  fileprivate func subtractingSaturated(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other > 0 ? .min / 2 : .max / 2) : difference
  }
}
