import Testing
import TestTurns

@testable import cachefetch

@Suite("Exit status", .inTurn) struct ExitStatusTests {
  @Test(
    "One load: how it ends decides, and what was stored where nothing fresh takes its place",
    arguments: [
      (LoadOutcome(storedStatus: nil, end: .fresh(status: 200)), false, .success),
      (LoadOutcome(storedStatus: nil, end: .fresh(status: 503)), false, .success),
      (LoadOutcome(storedStatus: 200, end: .fresh(status: 404)), false, .success),
      (LoadOutcome(storedStatus: 200, end: .fresh(status: 404)), true, .httpFailure),
      (LoadOutcome(storedStatus: nil, end: .fresh(status: 399)), true, .success),
      (LoadOutcome(storedStatus: nil, end: .fresh(status: 400)), true, .httpFailure),
      (LoadOutcome(storedStatus: 200, end: .none), false, .success),
      (LoadOutcome(storedStatus: 399, end: .none), true, .success),
      (LoadOutcome(storedStatus: 400, end: .none), true, .httpFailure),
      (LoadOutcome(storedStatus: 404, end: .none), true, .httpFailure),
      (LoadOutcome(storedStatus: 399, end: .fresh(status: 404), leavesFile: true), false, .storedOnly),
      (LoadOutcome(storedStatus: 400, end: .fresh(status: 404), leavesFile: true), false, .httpFailure),
      (LoadOutcome(storedStatus: 200, end: .failure(storeIsUnusable: false)), false, .storedOnly),
      (LoadOutcome(storedStatus: 200, end: .failure(storeIsUnusable: false)), true, .storedOnly),
      (LoadOutcome(storedStatus: nil, end: .failure(storeIsUnusable: false)), false, .nothing),
      (LoadOutcome(storedStatus: nil, end: .failure(storeIsUnusable: true)), false, .inputOutput),
      (LoadOutcome(storedStatus: nil, end: .none), false, .nothing),
      (LoadOutcome(storedStatus: nil, end: .fresh(status: 404), leavesFile: true), false, .httpFailure),
      (LoadOutcome(storedStatus: 200, end: .fresh(status: 404), leavesFile: true), false, .storedOnly),
      (LoadOutcome(storedStatus: 200, end: .fresh(status: 404), leavesFile: true), true, .httpFailure),
      (LoadOutcome(storedStatus: 404, end: .fresh(status: 404), leavesFile: true), false, .httpFailure),
      (LoadOutcome(storedStatus: nil, end: .fresh(status: 200), leavesFile: true), false, .httpFailure),
      (LoadOutcome(storedStatus: 404, end: .none, leavesFile: true), false, .httpFailure),
      (
        LoadOutcome(storedStatus: 200, end: .failure(storeIsUnusable: false), leavesFile: true), false,
        .storedOnly
      ),
    ] as [(LoadOutcome, Bool, Status)])
  func one(outcome: LoadOutcome, failsOnStatus: Bool, expected: Status) {
    #expect(outcome.exitStatus(failsOnStatus: failsOnStatus) == expected)
  }

  @Test(
    "Several loads: the first that applies of 74, 4, 22, 3, 0",
    arguments: [
      ([.success, .storedOnly, .nothing], .nothing), ([.storedOnly, .httpFailure], .httpFailure),
      ([.nothing, .inputOutput], .inputOutput), ([.success, .storedOnly], .storedOnly),
      ([.success], .success),
      ([], .success),
    ] as [([Status], Status)])
  func several(all: [Status], expected: Status) {
    #expect(Status.combined(all) == expected)
  }
}

/// The command's, not Swift Testing's.
typealias Status = cachefetch.ExitStatus
