import DataService
import Testing
import TestTurns

@testable import Launch
@testable import cachefetch

@Suite("Command: how preload ends", .inTurn) struct PreloadCommandTests {
  private typealias Step = PreloadOutcome.Step

  private func status(
    _ state: Step.State, kept: DataService.Kept? = nil, change: DataService.Change? = nil,
    answered: Int? = nil, failsOnStatus: Bool = false
  ) -> Status {
    let error = answered.map { DataServiceError(.status, "answered", status: $0) }
    let step = Step(
      name: "a", state: state, isCritical: true, change: change, kept: kept, error: error, elapsed: nil,
      bytes: nil)
    return PreloadCommand.status(of: step, failsOnStatus: failsOnStatus)
  }

  @Test func `each state has its status, and a store that failed comes first`() {
    #expect(status(.fresh, kept: .yes) == .success && status(.stored) == .storedOnly)
    #expect(status(.missing) == .nothing)
    for state in [Step.State.fresh, .stored, .missing] {
      #expect(status(state, kept: .no(.busy), answered: 404, failsOnStatus: true) == .inputOutput, "\(state)")
    }
  }

  @Test func `a response that may not be stored leaves what was stored before, or nothing`() {
    #expect(status(.fresh, kept: .no(.noStore), change: .new) == .nothing)
    #expect(status(.fresh, kept: .no(.noStore), change: .changed) == .storedOnly)
    #expect(status(.fresh, kept: .no(.vary), change: .unchanged) == .storedOnly)
    // It comes into the store all the same.
    #expect(status(.fresh, kept: .no(.superseded), change: .changed) == .success)
    #expect(status(.fresh, kept: .no(.inTier), change: .new) == .success)
  }

  @Test func `-f fails at a status of 400, and at none below`() {
    #expect(status(.missing, answered: 400, failsOnStatus: true) == .httpFailure)
    #expect(status(.stored, answered: 404, failsOnStatus: true) == .storedOnly)
    #expect(status(.missing, answered: 399, failsOnStatus: true) == .nothing)
    #expect(status(.missing, failsOnStatus: true) == .nothing)
    #expect(status(.missing, answered: 404) == .nothing && status(.stored, answered: 404) == .storedOnly)
  }
}
