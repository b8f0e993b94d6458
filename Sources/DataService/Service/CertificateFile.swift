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
    #if canImport(Darwin)
      let changed = status.st_mtimespec
    #else
      let changed = status.st_mtim
    #endif
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
  private var known: [(name: Name, stamp: CertificateFile.Stamp, digest: String)] = []

  /// A path, and what the file there is read as.
  struct Name: Equatable {
    let path: String
    let content: KeyRule.FileContent
  }

  /// The cached digest of this version of the file.
  func digest(of name: Name, _ stamp: CertificateFile.Stamp) -> String? {
    known.first { $0.name == name && $0.stamp == stamp }?.digest
  }

  mutating func remember(_ digest: String, of name: Name, _ stamp: CertificateFile.Stamp) {
    known.removeAll { $0.name == name }
    if known.count >= 16 { known.removeFirst() }
    known.append((name, stamp, digest))
  }
}

extension ServiceCore {
  /// The digest of a file's content, keyed if that is secret; `nil` if it cannot be read.
  func fileDigest(_ path: String, _ content: KeyRule.FileContent) -> String? {
    guard let file = CertificateFile(path: path) else { return nil }
    let (name, stamp) = (CertificateDigests.Name(path: path, content: content), file.stamp)
    if let known = state.withLock({ $0.certificates.digest(of: name, stamp) }) { return known }
    guard let bytes = file.content() else { return nil }
    let made = content == .identity ? digest(bytes) : DigestKey.none.digest(bytes)
    state.withLock { $0.certificates.remember(made, of: name, stamp) }
    return made
  }
}
