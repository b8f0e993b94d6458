#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif
internal import CTestSupport

/// A file in memory that takes so many bytes and no more: writing further fails, as on a disk that has become full.
public final class FileWithRoom: Sendable {
  /// Open for writing, at the beginning.
  public let descriptor: Int32

  /// A failure to make it.
  public struct Failed: Error {
    /// The `errno` of the system call.
    public let code: Int32
  }

  /// Makes a file that takes `bytes`.
  public init(for bytes: Int) throws {
    descriptor = testsupport_file_with_room(bytes)
    guard descriptor >= 0 else { throw Failed(code: errno) }
  }

  deinit { close(descriptor) }
}
