internal import CTestSupport
import PlatformC

/// A file in memory with a limited size: further writes fail, as on a full disk.
public final class FileWithRoom: Sendable {
  /// Open for writing, at the beginning.
  public let descriptor: Int32

  /// The file could not be made.
  public struct Failed: Error {
    /// The `errno` of the system call.
    public let code: Int32
  }

  /// Makes a file that holds at most `bytes`.
  public init(for bytes: Int) throws {
    descriptor = testsupport_file_with_room(bytes)
    guard descriptor >= 0 else { throw Failed(code: errno) }
  }

  deinit { close(descriptor) }
}
