/// Measures the progress of the steps that a launch waits for: by bytes if every length is known, otherwise by weights.
/// Pure; the fraction never decreases.
struct ProgressMeter: Sendable {
  /// One step as the meter sees it.
  struct Part: Sendable {
    var weight: Double
    var received: Int64 = 0
    var expected: Int64?
    /// Whether the launch waits for nothing more of it.
    var isDone = false
  }

  /// The sum over all steps, updated as steps change: a plan may have ten thousand of them.
  struct Sum: Sendable {
    private var parts = 0
    private var done = 0
    private var withNews = 0
    private var withoutLength = 0
    private var weight = 0.0
    private var weightDone = 0.0
    private var received: Int64 = 0
    private var expected: Int64 = 0

    init(_ parts: [Part] = []) {
      for part in parts { add(part) }
    }

    mutating func add(_ part: Part) { count(part, 1) }
    mutating func remove(_ part: Part) { count(part, -1) }

    private mutating func count(_ part: Part, _ sign: Int) {
      parts += sign
      if part.isDone { done += sign }
      if part.isDone || part.received > 0 { withNews += sign }
      if let length = part.length {
        received += Int64(sign) * min(part.received, length).summable
        expected += Int64(sign) * length.summable
      } else {
        withoutLength += sign
      }
      weight += Double(sign) * part.weight
      weightDone += Double(sign) * part.weight * part.share
    }

    fileprivate var hasNews: Bool { withNews > 0 }

    fileprivate var fraction: Double {
      // Sums of fractions are inexact, so the end is recognised by the count.
      if done == parts { return 1 }
      if withoutLength == 0, expected > 0 { return Double(received) / Double(expected) }
      return weight > 0 ? weightDone / weight : 1
    }
  }

  private var highest: Double?

  /// The fraction, from 0 to 1; `nil` until the first byte or response arrives.
  mutating func fraction(of sum: Sum) -> Double? {
    guard sum.hasNews || highest != nil else { return nil }
    let fraction = min(1, max(highest ?? 0, sum.fraction))
    highest = fraction
    return fraction
  }
}

extension ProgressMeter.Part {
  /// Its length in bytes, if known.
  fileprivate var length: Int64? { isDone ? received : expected }

  fileprivate var share: Double {
    if isDone { return 1 }
    guard let expected, expected > 0 else { return 0 }
    return min(1, Double(received) / Double(expected))
  }
}

extension Int64 {
  /// A length for a sum: an origin may announce any, and a million of the largest here can be added.
  var summable: Int64 { Swift.min(Swift.max(self, 0), Int64.max >> 20) }
}
