import PlatformC

/// Wakes a thread that waits for descriptors: an `eventfd` on Linux, a pipe elsewhere. Closed with the object.
package final class WakeupPipe: Sendable {
  /// Readable while a signal is pending; -1 if the process has no descriptors left.
  package let readEnd: Int32
  private let writeEnd: Int32

  private static let blindMilliseconds: Int32 = 20

  /// Whether signals can wake a thread.
  package var isUsable: Bool { readEnd >= 0 }

  package init() {
    (readEnd, writeEnd) = makeWakeup()
  }

  private init(ends: Int32) {
    readEnd = ends
    writeEnd = ends
  }

  /// One without descriptors, as where the process has none left.
  package static var unusable: WakeupPipe { WakeupPipe(ends: -1) }

  deinit {
    guard isUsable else { return }
    close(readEnd)
    if writeEnd != readEnd { close(writeEnd) }
  }

  /// The time to wait if no signal can arrive: short, even if the caller wants longer, or forever (negative).
  package func blindWait(_ milliseconds: Int32) -> Int32 {
    milliseconds < 0 ? Self.blindMilliseconds : min(milliseconds, Self.blindMilliseconds)
  }

  /// Makes the read end readable. If the write is refused, it is readable already.
  package func signal() {
    var one: UInt64 = 1
    _ = write(writeEnd, &one, 8)
  }

  /// Clears the pending signals.
  package func drain() {
    var bytes: (UInt64, UInt64) = (0, 0)
    _ = read(readEnd, &bytes, 16)
  }
}
