internal import Guards
internal import PlatformC

/// A file of certificates that is open for reading.
struct CertificateFile: ~Copyable {
  /// Identifies one version of a file's content.
  struct Stamp: Equatable {
    let device: UInt64
    let inode: UInt64
    let bytes: Int64
    let seconds: Int64
    let nanoseconds: Int64
  }

  /// The size limit, larger than any bundle of certificate authorities.
  private static let longest = 16 << 20

  let stamp: Stamp
  private let descriptor: Int32

  /// Opens the file; `nil` if it does not exist, is unreadable, or cannot be read twice, such as a pipe.
  init?(path: String) {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    guard let stamp = Self.stamp(of: descriptor), stamp.bytes <= Self.longest else {
      close(descriptor)
      return nil
    }
    self.descriptor = descriptor
    self.stamp = stamp
  }

  deinit { close(descriptor) }

  private static func stamp(of descriptor: Int32) -> Stamp? {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let changed = status.modified
    return Stamp(
      device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino),
      bytes: Int64(status.st_size), seconds: Int64(changed.tv_sec), nanoseconds: Int64(changed.tv_nsec))
  }

  /// The whole content; `nil` if it cannot be read.
  func content() -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: Int(stamp.bytes))
    var done = 0
    while done < bytes.count {
      let missing = bytes.count - done
      let more = bytes.withUnsafeMutableBytes { buffer -> Int in
        guard let base = buffer.baseAddress else { return 0 }
        return read(descriptor, base + done, missing)
      }
      if more < 0, errno == EINTR { continue }
      guard more > 0 else { return nil }
      done += more
    }
    return bytes
  }
}

/// Caches the digests of certificate files; each is computed again only after the file has changed.
struct CertificateDigests {
  // Few, so that no dictionary is needed.
  private var known: [(path: String, stamp: CertificateFile.Stamp, digest: String)] = []

  /// The cached digest of this version of the file.
  func digest(of path: String, _ stamp: CertificateFile.Stamp) -> String? {
    known.first { $0.path == path && $0.stamp == stamp }?.digest
  }

  mutating func remember(_ digest: String, of path: String, _ stamp: CertificateFile.Stamp) {
    known.removeAll { $0.path == path }
    if known.count >= 16 { known.removeFirst() }
    known.append((path, stamp, digest))
  }
}

extension ServiceCore {
  /// The keyed digest of a file's content, beside which it may have a private key; `nil` if it cannot be read.
  func fileDigest(_ path: String) -> String? {
    guard let file = CertificateFile(path: path) else { return nil }
    let stamp = file.stamp
    if let known = state.withLock({ $0.certificates.digest(of: path, stamp) }) { return known }
    guard let bytes = file.content() else { return nil }
    let made = digest(bytes)
    state.withLock { $0.certificates.remember(made, of: path, stamp) }
    return made
  }
}
