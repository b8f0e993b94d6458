#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A pipe that wakes a thread which waits for sockets. Both ends are closed with it.
package final class WakeupPipe: Sendable {
  /// Readable while a signal is pending; -1 where the process has no descriptors left.
  package let readEnd: Int32
  private let writeEnd: Int32

  /// Whether there is a pipe.
  var isUsable: Bool { readEnd >= 0 }

  package init() {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      readEnd = -1
      writeEnd = -1
      return
    }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    readEnd = ends[0]
    writeEnd = ends[1]
  }

  deinit {
    guard isUsable else { return }
    close(readEnd)
    close(writeEnd)
  }

  /// Makes the read end readable. A full pipe is readable already.
  package func signal() {
    var byte: UInt8 = 1
    _ = write(writeEnd, &byte, 1)
  }

  /// Takes what was signalled.
  package func drain() {
    var bytes: (UInt64, UInt64) = (0, 0)
    _ = read(readEnd, &bytes, 16)
  }
}
