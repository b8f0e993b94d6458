/// Counts a plan's steps by state. Each change of a step updates the counts, so that an event costs the same in a plan
/// of three steps as in one of ten thousand.
struct PreloadTally: Sendable {
  /// A step's contribution to the counts.
  struct Entry {
    var step: PreloadStepState
    /// Its part of the progress; `nil` if the launch does not wait for it.
    var part: ProgressMeter.Part?
    /// Whether it holds the launch up.
    var isMissing: Bool
  }

  private(set) var sum = ProgressMeter.Sum()
  private(set) var running = 0
  private(set) var stored = 0
  private(set) var fresh = 0
  private(set) var failed = 0
  private(set) var received: Int64 = 0
  private(set) var expected: Int64 = 0
  private(set) var withoutLength = 0
  private(set) var criticalWithNothing = 0
  /// Steps that hold the launch up.
  private(set) var missing = 0
  /// Missing steps that may still arrive.
  private(set) var missingInHope = 0
  /// Missing steps that have failed and no longer run.
  private(set) var missingFailed = 0

  mutating func add(_ entry: Entry) {
    count(entry, 1)
    if let part = entry.part { sum.add(part) }
  }

  mutating func remove(_ entry: Entry) {
    count(entry, -1)
    if let part = entry.part { sum.remove(part) }
  }

  private mutating func count(_ entry: Entry, _ sign: Int) {
    let step = entry.step
    if step.isRunning { running += sign }
    if step.hasStored, !step.isFresh { stored += sign }
    if step.isFresh { fresh += sign }
    if step.hasFailed { failed += sign }
    received += Int64(sign) * step.part.received.summable
    if let length = step.part.expected {
      expected += Int64(sign) * length.summable
    } else {
      withoutLength += sign
    }
    if step.isCritical, !step.hasAnything { criticalWithNothing += sign }
    guard entry.isMissing else { return }
    missing += sign
    if step.isWaiting || step.isRunning { missingInHope += sign }
    if step.hasFailed, !step.isRunning { missingFailed += sign }
  }
}

/// The state of a step: what has arrived, and whether more may follow.
struct PreloadStepState: Sendable {
  let name: String
  let isCritical: Bool
  var part: ProgressMeter.Part
  var isWaiting = true
  var isRunning = false
  var hasStored = false
  var isFresh = false
  var reason: String?

  var hasFailed: Bool { reason != nil }
  var hasAnything: Bool { hasStored || isFresh }
  var state: PreloadOutcome.Step.State { isFresh ? .fresh : hasStored ? .stored : .missing }
}
