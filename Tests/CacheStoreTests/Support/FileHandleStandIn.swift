import PlatformC
import TestSupport

/// An open file to write into; FoundationEssentials has no `FileHandle`.
final class FileHandleStandIn {
  private let descriptor: Int32

  init(path: String) throws {
    descriptor = open(path, O_RDWR)
    guard descriptor >= 0 else { throw CannotOpen(path: path) }
  }

  deinit { close(descriptor) }

  struct CannotOpen: Error { let path: String }

  func write(_ bytes: [UInt8], at offset: Int) { _ = pwrite(descriptor, bytes, bytes.count, off_t(offset)) }
}

extension TemporaryFolder {
  /// Overwrites a part of a file in place.
  func overwrite(_ name: String, at offset: Int, with bytes: [UInt8]) throws {
    let handle = try FileHandleStandIn(path: file(name))
    handle.write(bytes, at: offset)
  }
}
