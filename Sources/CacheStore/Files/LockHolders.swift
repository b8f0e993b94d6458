#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Which processes hold locks on a file, as far as the system tells.
enum LockHolders {
  /// The processes, but this one; empty where the system does not tell.
  ///
  /// Reads `/proc/locks` rather than ask with a descriptor: closing one would drop this process's own locks.
  static func processes(holding path: String) -> [Int32] {
    guard let inode = FileStatus(path: path)?.identity.inode, let text = contents(of: "/proc/locks") else {
      return []
    }
    var found = Set<Int32>()
    for line in text.split(separator: "\n") {
      // 1: POSIX  ADVISORY  READ 1234 00:2f:5678 124 124
      let words = line.split(separator: " ")
      guard words.count >= 6, words[5].split(separator: ":").last == Substring(String(inode)),
        let pid = Int32(words[4])
      else { continue }
      if pid > 0, pid != getpid() { found.insert(pid) }
    }
    return found.sorted()
  }

  private static func contents(of path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer[..<count]
    }
  }
}
