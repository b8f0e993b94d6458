import Testing
import TestTurns

@testable import Launch

@Suite("How many steps are in which state", .inTurn) struct PreloadTallyTests {
  struct Counts: Equatable {
    var running = 0
    var stored = 0
    var fresh = 0
    var failed = 0
    var received: Int64 = 0
    var expected: Int64 = 0
    var withoutLength = 0
    var criticalWithNothing = 0
    var missing = 0
    var missingInHope = 0
    var missingFailed = 0

    init(_ tally: PreloadTally) {
      running = tally.running
      stored = tally.stored
      fresh = tally.fresh
      failed = tally.failed
      received = tally.received
      expected = tally.expected
      withoutLength = tally.withoutLength
      criticalWithNothing = tally.criticalWithNothing
      missing = tally.missing
      missingInHope = tally.missingInHope
      missingFailed = tally.missingFailed
    }

    init(_ change: (inout Counts) -> Void = { _ in }) { change(&self) }
  }

  typealias Step = PreloadStepState

  private func entry(isCritical: Bool = false, isMissing: Bool = false, _ change: (inout Step) -> Void)
    -> PreloadTally.Entry
  {
    var step = Step(name: "s", isCritical: isCritical, part: .init(weight: 1))
    step.isWaiting = false
    change(&step)
    return PreloadTally.Entry(step: step, part: nil, isMissing: isMissing)
  }

  @Test("Each state is counted, and taken out again") func table() {
    let cases: [(name: String, entry: PreloadTally.Entry, counts: Counts)] = [
      ("nothing", entry { _ in }, Counts { $0.withoutLength = 1 }),
      (
        "lengths", entry { $0.part = .init(weight: 1, received: 3, expected: 7) },
        Counts {
          $0.received = 3
          $0.expected = 7
        }
      ),
      (
        "running", entry { $0.isRunning = true },
        Counts {
          $0.running = 1
          $0.withoutLength = 1
        }
      ),
      (
        "stored", entry(isCritical: true) { $0.hasStored = true },
        Counts {
          $0.stored = 1
          $0.withoutLength = 1
        }
      ),
      (
        "fresh", entry(isCritical: true) { $0.isFresh = true },
        Counts {
          $0.fresh = 1
          $0.withoutLength = 1
        }
      ),
      (
        "stored and fresh",
        entry {
          $0.hasStored = true
          $0.isFresh = true
        },
        Counts {
          $0.fresh = 1
          $0.withoutLength = 1
        }
      ),
      (
        "failed", entry { $0.reason = "why" },
        Counts {
          $0.failed = 1
          $0.withoutLength = 1
        }
      ),
      (
        "critical", entry(isCritical: true) { _ in },
        Counts {
          $0.criticalWithNothing = 1
          $0.withoutLength = 1
        }
      ),
      (
        "missing", entry(isMissing: true) { _ in },
        Counts {
          $0.missing = 1
          $0.withoutLength = 1
        }
      ),
      (
        "missing and waiting", entry(isMissing: true) { $0.isWaiting = true },
        Counts {
          $0.missing = 1
          $0.missingInHope = 1
          $0.withoutLength = 1
        }
      ),
      (
        "missing and running", entry(isMissing: true) { $0.isRunning = true },
        Counts {
          $0.missing = 1
          $0.missingInHope = 1
          $0.running = 1
          $0.withoutLength = 1
        }
      ),
      (
        "missing and failed", entry(isMissing: true) { $0.reason = "why" },
        Counts {
          $0.missing = 1
          $0.missingFailed = 1
          $0.failed = 1
          $0.withoutLength = 1
        }
      ),
      (
        "missing, failed and tried again",
        entry(isMissing: true) {
          $0.reason = "why"
          $0.isRunning = true
        },
        Counts {
          $0.missing = 1
          $0.missingInHope = 1
          $0.running = 1
          $0.failed = 1
          $0.withoutLength = 1
        }
      ),
    ]
    var all = PreloadTally()
    for (name, entry, counts) in cases {
      var tally = PreloadTally()
      tally.add(entry)
      #expect(Counts(tally) == counts, Comment(rawValue: name))
      tally.remove(entry)
      #expect(Counts(tally) == Counts(), Comment(rawValue: name))
      all.add(entry)
    }
    #expect(all.withoutLength == cases.count - 1 && all.missing == 5)
    for (_, entry, _) in cases { all.remove(entry) }
    #expect(Counts(all) == Counts())
  }

  @Test("Lengths that no body has are summed, and taken out again") func largest() {
    let largest = entry { $0.part = .init(weight: 1, received: Int64.max, expected: Int64.max) }
    var tally = PreloadTally()
    for _ in 0..<3 { tally.add(largest) }
    #expect(tally.received == tally.expected && tally.expected > Int64(3) << 42)
    for _ in 0..<3 { tally.remove(largest) }
    #expect(Counts(tally) == Counts())
  }

  @Test("The progress takes of a step what is waited for") func progress() {
    var meter = ProgressMeter()
    var tally = PreloadTally()
    let part = ProgressMeter.Part(weight: 1, received: 1, expected: 4)
    let step = Step(name: "s", isCritical: false, part: part)
    tally.add(.init(step: step, part: nil, isMissing: false))
    #expect(meter.fraction(of: tally.sum) == nil)
    tally.add(.init(step: step, part: part, isMissing: false))
    #expect(meter.fraction(of: tally.sum) == 0.25)
    tally.remove(.init(step: step, part: part, isMissing: false))
    meter = ProgressMeter()
    #expect(meter.fraction(of: tally.sum) == nil)
  }
}
