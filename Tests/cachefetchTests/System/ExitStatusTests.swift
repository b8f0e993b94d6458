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
      (LoadOutcome(storedStatus: 200, end: .fresh(status: 404)), true, .storedOnly),
      (LoadOutcome(storedStatus: nil, end: .fresh(status: 404)), true, .httpFailure),
      (LoadOutcome(storedStatus: nil, end: .fresh(status: 399)), true, .success),
      (LoadOutcome(storedStatus: nil, end: .fresh(status: 400)), true, .httpFailure),
      (LoadOutcome(storedStatus: 200, end: .none), false, .success),
      (LoadOutcome(storedStatus: 399, end: .none), true, .success),
      (LoadOutcome(storedStatus: 400, end: .none), true, .httpFailure),
      (LoadOutcome(storedStatus: 404, end: .none), true, .httpFailure),
      (LoadOutcome(storedStatus: 399, end: .fresh(status: 404), leavesFile: true), false, .storedOnly),
      (LoadOutcome(storedStatus: 400, end: .fresh(status: 404), leavesFile: true), false, .httpFailure),
      (
        LoadOutcome(storedStatus: 200, end: .failure(storeIsUnusable: false, status: nil)), false, .storedOnly
      ),
      (LoadOutcome(storedStatus: 200, end: .failure(storeIsUnusable: false, status: nil)), true, .storedOnly),
      (LoadOutcome(storedStatus: nil, end: .failure(storeIsUnusable: false, status: nil)), false, .nothing),
      (
        LoadOutcome(storedStatus: nil, end: .failure(storeIsUnusable: true, status: nil)), false, .inputOutput
      ),
      (LoadOutcome(storedStatus: nil, end: .none), false, .nothing),
      (LoadOutcome(storedStatus: nil, end: .fresh(status: 404), leavesFile: true), false, .httpFailure),
      (LoadOutcome(storedStatus: 200, end: .fresh(status: 404), leavesFile: true), false, .storedOnly),
      (LoadOutcome(storedStatus: 200, end: .fresh(status: 404), leavesFile: true), true, .storedOnly),
      (LoadOutcome(end: .failure(storeIsUnusable: false, status: 503)), true, .httpFailure),
      (LoadOutcome(end: .failure(storeIsUnusable: false, status: 503)), false, .nothing),
      (LoadOutcome(storedStatus: 404, end: .fresh(status: 404), leavesFile: true), false, .httpFailure),
      (LoadOutcome(storedStatus: nil, end: .fresh(status: 200), leavesFile: true), false, .httpFailure),
      (LoadOutcome(storedStatus: 404, end: .none, leavesFile: true), false, .httpFailure),
      (
        LoadOutcome(storedStatus: 200, end: .failure(storeIsUnusable: false, status: nil), leavesFile: true),
        false,
        .storedOnly
      ),
    ] as [(LoadOutcome, Bool, Status)])
  func one(outcome: LoadOutcome, failsOnStatus: Bool, expected: Status) {
    #expect(outcome.exitStatus(failsOnStatus: failsOnStatus) == expected)
  }

  @Test(
    "--stale-ok: a stored response that stands in is a success in an outage, and in no other case",
    arguments: [
      (nil, .success), (503, .success), (500, .success), (408, .success), (429, .success), (200, .success),
      (401, .storedOnly), (403, .storedOnly), (404, .storedOnly), (410, .storedOnly),
    ] as [(Int?, Status)])
  func staleIsFine(status: Int?, expected: Status) {
    let failed = LoadOutcome(storedStatus: 200, end: .failure(storeIsUnusable: false, status: status))
    #expect(failed.exitStatus(failsOnStatus: true, isStaleFine: true) == expected)
    #expect(failed.exitStatus(failsOnStatus: true) == .storedOnly)
    if let status, status >= 400 {
      let answered = LoadOutcome(storedStatus: 200, end: .fresh(status: status))
      #expect(answered.exitStatus(failsOnStatus: true, isStaleFine: true) == expected)
      let alone = LoadOutcome(end: .fresh(status: status))
      #expect(alone.exitStatus(failsOnStatus: true, isStaleFine: true) == .httpFailure)
    }
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
