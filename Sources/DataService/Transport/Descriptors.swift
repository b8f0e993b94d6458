internal import CacheStore
internal import PlatformC

/// Detects that the process has run out of file descriptors, since other errors then seem to be the cause.
enum Descriptors {
  /// The descriptors that a new connection needs at once: a socket, and a pair for name resolution.
  private static let few = 3

  /// Whether fewer descriptors are left than an exchange needs.
  static var areUsedUp: Bool {
    var opened: [Int32] = []
    defer { for descriptor in opened { close(descriptor) } }
    for _ in 0..<few {
      // Not a file: the command's sandbox refuses most of them, which would look as if there were room.
      let descriptor = makeSocket(AF_UNIX)
      guard descriptor >= 0 else { return isOfDescriptors(errno) }
      opened.append(descriptor)
    }
    return false
  }

  /// Whether an error number means that no descriptors are left.
  static func isOfDescriptors(_ number: Int32) -> Bool { number == EMFILE || number == ENFILE }
}

extension DataServiceError {
  /// The failure to make something of libcurl's: by the descriptors where none are left, else as `message` says.
  package static func notMade(_ message: String) -> DataServiceError {
    Descriptors.areUsedUp ? .tooManyOpenFiles : DataServiceError(.other, message)
  }

  /// No file or socket could be opened any more.
  package static let tooManyOpenFiles = DataServiceError(
    .other, "too many open files", remedy: .descriptors)
}
