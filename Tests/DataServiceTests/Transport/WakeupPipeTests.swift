import DataService
import PlatformC
import Testing
import TestTurns

@Suite("What wakes a waiting thread", .inTurn) struct WakeupPipeTests {
  private func isReadable(_ pipe: WakeupPipe) -> Bool {
    var polled = pollfd(fd: pipe.readEnd, events: Int16(POLLIN), revents: 0)
    return poll(&polled, 1, 0) > 0
  }

  @Test func `a signal stays until it is heard, and several are heard at once`() {
    let pipe = WakeupPipe()
    #expect(pipe.isUsable && !isReadable(pipe))
    pipe.signal()
    #expect(isReadable(pipe) && isReadable(pipe))
    pipe.signal()
    pipe.signal()
    pipe.drain()
    #expect(!isReadable(pipe))
    // With nothing to hear it does not wait.
    pipe.drain()
    pipe.signal()
    #expect(isReadable(pipe))
  }

  @Test func `where no signal can come, nobody waits longer than 20 ms`() {
    let pipe = WakeupPipe.unusable
    #expect(!pipe.isUsable)
    // Neither harms anything else that is open.
    pipe.signal()
    pipe.drain()
    let waits: [(asked: Int32, given: Int32)] = [
      (-1, 20), (.min, 20), (0, 0), (1, 1), (19, 19), (20, 20), (21, 20), (.max, 20),
    ]
    for (asked, given) in waits { #expect(pipe.blindWait(asked) == given, "\(asked)") }
  }
}
