internal import PlatformC
internal import PlatformFoundation

/// A file whose contents must stay secret.
enum SecretFile {
  /// Why a file is not used, and what to do.
  struct Problem: Error, Hashable {
    let text: String
    var remedy: String?

    init(_ text: String, remedy: String? = nil) { (self.text, self.remedy) = (text, remedy) }
  }

  private static let largest = 4_096

  /// The text of a file.
  ///
  /// Refuses, as ssh does, a file of the user's own that its group may read, and any that everybody may.
  static func text(of path: String) throws(Problem) -> String {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw Problem(String(cString: strerror(errno))) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw Problem("it is not a regular file")
    }
    let forbidden: mode_t = status.st_uid == geteuid() ? 0o077 : 0o007
    guard status.st_mode & forbidden == 0 else {
      throw Problem("others may read it", remedy: "give it mode 600")
    }
    var bytes = [UInt8](repeating: 0, count: largest + 1)
    let count = read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw Problem(String(cString: strerror(errno))) }
    guard count <= largest else { throw Problem("it is longer than \(largest) bytes") }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  /// The first line of a file, without white space around it.
  static func line(of path: String) throws(Problem) -> String {
    let text = try text(of: path)
    let line = text.prefix { !$0.isNewline }.trimmingPrefix(while: \.isWhitespace)
    let end = line.lastIndex { !$0.isWhitespace }
    guard let end else { throw Problem("it is empty") }
    return String(line[...end])
  }
}
