/// How many of a plan's steps are in which state, kept up to date by the steps that change: an event of one step costs the
/// same in a plan of three as in one of ten thousand.
struct PreloadTally: Sendable {
  /// One step as it is counted.
  struct Entry {
    var step: PreloadMachine.Step
    /// What the progress takes of it; `nil` where nobody waits for it.
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
  /// Those that may still come.
  private(set) var missingInHope = 0
  /// Those that have failed and do not run any more.
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
    received += Int64(sign) * step.part.received
    if let length = step.part.expected { expected += Int64(sign) * length } else { withoutLength += sign }
    if step.isCritical, !step.hasAnything { criticalWithNothing += sign }
    guard entry.isMissing else { return }
    missing += sign
    if step.isWaiting || step.isRunning { missingInHope += sign }
    if step.hasFailed, !step.isRunning { missingFailed += sign }
  }
}
