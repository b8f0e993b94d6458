import Dispatch
import Foundation
import Synchronization

/// Ends the run when a test has not ended in time: a test that hangs on its own thread heeds no cancellation, and a run
/// that never ends names nobody.
final class HangWatch {
  /// `CACHEFETCH_TEST_SECONDS`, else ten minutes.
  static let limitSeconds =
    ProcessInfo.processInfo.environment["CACHEFETCH_TEST_SECONDS"].flatMap(Int.init) ?? 600

  private static let running = Mutex<[ObjectIdentifier: String]>([:])
  private let alarm: any DispatchSourceTimer

  init(of name: String) {
    alarm = DispatchSource.makeTimerSource(queue: .global())
    Self.running.withLock { $0[ObjectIdentifier(self)] = name }
    alarm.setEventHandler { Self.endRun(becauseOf: name) }
    alarm.schedule(deadline: .now() + .seconds(Self.limitSeconds))
    alarm.resume()
  }

  func stop() {
    alarm.cancel()
    Self.running.withLock { $0[ObjectIdentifier(self)] = nil }
  }

  private static func endRun(becauseOf name: String) {
    let others = running.withLock { $0.values.filter { $0 != name }.sorted() }
    var text = "error: a test hangs: \(name) has not ended after \(limitSeconds) s\n"
    for other in others { text += "  beside it: \(other)\n" }
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    fflush(nil)
    _exit(1)
  }
}
