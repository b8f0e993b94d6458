import Testing
import TestTurns

@testable import DataService

@Suite("What the loads of a service share", .inTurn) struct ServiceStateTests {
  @Test func `that there is no network holds until an exchange says otherwise, not a cancelled one`() {
    var state = ServiceState()
    #expect(state.prefetches.failedAt == nil)
    state.noteNetwork(after: .failure(DataServiceError(.offline, "no network")), now: 1)
    #expect(state.prefetches.failedAt == 1)
    state.noteNetwork(after: .failure(DataServiceError(.cancelled, "cancelled")), now: 2)
    #expect(state.prefetches.failedAt == 1)
    state.noteNetwork(after: .failure(DataServiceError(.refused, "refused")), now: 3)
    #expect(state.prefetches.failedAt == 3)
    // Somebody has answered.
    state.noteNetwork(after: .failure(DataServiceError(.protocol, "garbage")), now: 4)
    #expect(state.prefetches.failedAt == nil)
  }

  @Test func `background work has a turn when first asked for, then one in every pause, never two at once`() {
    var maintenance = Maintenance(last: 1_000)
    let first = maintenance.takeTurn(at: 1_001, pause: 100)
    #expect(first.isTurn && !first.isRegular)
    let soon = maintenance.takeTurn(at: 1_101, pause: 100)
    #expect(!soon.isTurn && !soon.isRegular)
    let due = maintenance.takeTurn(at: 1_102, pause: 100)
    #expect(due.isTurn && due.isRegular)
    maintenance.task = Task {}
    let busy = maintenance.takeTurn(at: 2_000, pause: 100)
    #expect(!busy.isTurn && busy.isRegular)
    maintenance.task = nil
    let free = maintenance.takeTurn(at: 2_000, pause: 100)
    #expect(free.isTurn && free.isRegular)
  }

  @Test func `background work that is under way when it is first asked for is not begun again`() {
    var maintenance = Maintenance(last: 1_000)
    maintenance.task = Task {}
    let turn = maintenance.takeTurn(at: 1_001, pause: 100)
    #expect(!turn.isTurn)
  }

  @Test func `a service is idle only without background work`() async {
    let thread = NetworkThread()
    let engine = Engine(thread: thread, now: 0)
    #expect(engine.isIdle)
    await engine.run { $0.maintenance.task = Task {} }
    #expect(!engine.isIdle)
    await engine.run { $0.maintenance.task = nil }
    #expect(engine.isIdle)
    await thread.stop()
  }
}
