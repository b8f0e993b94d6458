/// Measures how far the steps that a launch waits for have come: by bytes where every length is known, by weights
/// otherwise. Pure; what it once said it never takes back.
struct ProgressMeter: Sendable {
  /// One step as the meter sees it.
  struct Part: Sendable {
    var weight: Double
    var received: Int64 = 0
    var expected: Int64?
    /// Whether nothing more is waited for.
    var isDone = false
  }

  private var highest: Double?

  /// The fraction, from 0 to 1; `nil` while no byte and no answer has come.
  mutating func fraction(of parts: [Part]) -> Double? {
    let hasNews = parts.contains { $0.isDone || $0.received > 0 }
    guard hasNews || highest != nil else { return nil }
    let fraction = min(1, max(highest ?? 0, byBytes(parts) ?? byWeights(parts)))
    highest = fraction
    return fraction
  }

  private func byBytes(_ parts: [Part]) -> Double? {
    var received = 0.0
    var expected = 0.0
    for part in parts {
      guard let length = part.isDone ? part.received : part.expected else { return nil }
      received += Double(min(part.received, length))
      expected += Double(length)
    }
    return expected > 0 ? received / expected : nil
  }

  private func byWeights(_ parts: [Part]) -> Double {
    let total = parts.reduce(0) { $0 + $1.weight }
    guard total > 0 else { return 1 }
    return parts.reduce(0) { $0 + $1.weight * $1.share } / total
  }
}

extension ProgressMeter.Part {
  fileprivate var share: Double {
    if isDone { return 1 }
    guard let expected, expected > 0 else { return 0 }
    return min(1, Double(received) / Double(expected))
  }
}
