@testable import DataService
import Dispatch
import PlatformFoundation
import TestTurns
import Testing

@Suite("Wakeup: a signal for one task that waits", .inTurn) struct WakeupTests {
  /// Runs every timer at once, on another thread: a time limit that is over while the wait begins.
  private struct Impatient: Timekeeper {
    var wallMilliseconds: Int64 { 0 }
    var bootNanoseconds: Int64 { 0 }
    var bootID: String { "boot" }
    func after(_ delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerHandle {
      let handle = TimerHandle(action)
      DispatchQueue.global().async { handle.fire() }
      return handle
    }
  }

  @Test func `a signal before the wait counts, once`() async {
    let wakeup = Wakeup()
    wakeup.tell()
    wakeup.tell()
    #expect(await wakeup.wait(atMost: nil, Impatient()))
    #expect(await !wakeup.wait(atMost: .zero, Impatient()))
  }

  /// A signal that is lost leaves the last wait, which has no limit, waiting: the suite's limit names this test.
  @Test func `no signal is lost where it meets the end of a time limit`() async {
    for _ in 0..<20_000 {
      let wakeup = Wakeup()
      DispatchQueue.global().async { wakeup.tell() }
      if await wakeup.wait(atMost: .zero, Impatient()) { continue }
      #expect(await wakeup.wait(atMost: nil, Impatient()))
    }
  }
}
