internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The digests of files of certificates, each read again only where the file has changed.
final class CertificateFiles: Sendable {
  private struct Known {
    let path: String
    let stamp: Stamp
    let digest: String
  }

  /// What tells one content of a file from the next.
  private struct Stamp: Equatable {
    let device: UInt64
    let inode: UInt64
    let bytes: Int64
    let seconds: Int64
    let nanoseconds: Int64
  }

  /// More than all authorities of the world have.
  private static let longest = 16 << 20

  // Few, so that no dictionary is needed.
  private let known = Mutex<[Known]>([])

  /// The digest of a file's content; `nil` where there is no such file, it cannot be read, or it is none that can be
  /// read twice, such as a pipe.
  func digest(of path: String, by digest: PreparedRequest.Digest) -> String? {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    guard let stamp = Self.stamp(of: descriptor), stamp.bytes <= Self.longest else { return nil }
    if let known = known.withLock({ $0.first { $0.path == path && $0.stamp == stamp } }) {
      return known.digest
    }
    guard let bytes = Self.content(of: descriptor, count: Int(stamp.bytes)) else { return nil }
    let made = Known(path: path, stamp: stamp, digest: digest(bytes))
    known.withLock { known in
      known.removeAll { $0.path == path }
      if known.count >= 16 { known.removeFirst() }
      known.append(made)
    }
    return made.digest
  }

  private static func stamp(of descriptor: Int32) -> Stamp? {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    #if canImport(Darwin)
      let changed = status.st_mtimespec
    #else
      let changed = status.st_mtim
    #endif
    return Stamp(
      device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino),
      bytes: Int64(status.st_size), seconds: Int64(changed.tv_sec), nanoseconds: Int64(changed.tv_nsec))
  }

  private static func content(of descriptor: Int32, count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let more = bytes.withUnsafeMutableBytes { buffer -> Int in
        guard let base = buffer.baseAddress else { return 0 }
        return read(descriptor, base + done, count - done)
      }
      if more < 0, errno == EINTR { continue }
      guard more > 0 else { return nil }
      done += more
    }
    return bytes
  }
}
