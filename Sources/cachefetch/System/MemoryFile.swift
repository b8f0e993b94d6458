internal import CPlatform
internal import PlatformC

/// A file in memory, for bytes that another program reads but that must not reach a disk.
enum MemoryFile {
  /// A descriptor at the beginning of the bytes; the caller closes it.
  static func holding(_ bytes: [UInt8]) throws(OutputError) -> Int32 {
    let descriptor = cplatform_memory_file("cachefetch")
    guard descriptor >= 0 else { throw .failed(errno, path: "a file in memory") }
    do throws(OutputError) {
      try OutputDescriptor(number: descriptor).write(bytes)
      lseek(descriptor, 0, SEEK_SET)
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }
}
