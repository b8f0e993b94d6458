import CacheStore
import PlatformC

/// Whether the process can still open files and sockets: where it cannot, whatever fails seems to have another cause.
enum Descriptors {
  /// What a connection needs at once: a socket, and a pair to look its name up.
  private static let few = 3

  /// Whether fewer can be opened now than an exchange needs.
  static var areUsedUp: Bool {
    var opened: [Int32] = []
    defer { for descriptor in opened { close(descriptor) } }
    for _ in 0..<few {
      let descriptor = open("/", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return isOfDescriptors(errno) }
      opened.append(descriptor)
    }
    return false
  }

  /// Whether an error number says so.
  static func isOfDescriptors(_ number: Int32) -> Bool { number == EMFILE || number == ENFILE }
}

extension DataServiceError {
  /// No file or socket could be opened any more.
  package static let tooManyOpenFiles = DataServiceError(
    .other, "too many open files", remedy: .descriptors)
}
