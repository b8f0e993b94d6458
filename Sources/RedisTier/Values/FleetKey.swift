internal import CSodium
internal import CacheStore
internal import DataService
internal import PlatformC
internal import PlatformFoundation

/// The secret that the machines of a fleet share. Names in the tier are digests with it, values are sealed with it.
package struct FleetKey: Sendable {
  /// The length in bytes.
  package static let length = 32
  /// The most keys in a file: each costs a lookup in the tier.
  static let most = 4

  let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// A new key as a line of a key file: base64 of 32 random bytes.
  package static func generate() -> String { Data(random().bytes).base64EncodedString() }

  /// A new key.
  static func random() -> FleetKey {
    var generator = SystemRandomNumberGenerator()
    return FleetKey(bytes: (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
  }

  /// The keys of a file's text: one a line in base64, empty lines and lines that begin with `#` aside. The first seals,
  /// all open.
  /// - Throws: A sentence that says which line is wrong.
  static func keys(in text: String) throws(SecretFile.Problem) -> [FleetKey] {
    var keys: [FleetKey] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let words = line.filter { !$0.isWhitespace }
      guard !words.isEmpty, !words.hasPrefix("#") else { continue }
      guard let data = Data(base64Encoded: words), data.count == length else {
        throw SecretFile.Problem("line \(index + 1) is not base64 of \(length) bytes")
      }
      keys.append(FleetKey(bytes: Array(data)))
    }
    guard !keys.isEmpty else { throw SecretFile.Problem("it has no key") }
    guard keys.count <= most else { throw SecretFile.Problem("it has more than \(most) keys") }
    return keys
  }

  /// A key for one purpose, by libsodium's derivation: it reveals neither this key nor another derived one.
  func derived(_ purpose: Purpose) -> [UInt8] {
    _ = Self.libraryIsReady
    var key = [UInt8](repeating: 0, count: Self.length)
    // Fails only for lengths out of range; these constants are within range.
    _ = crypto_kdf_derive_from_key(&key, key.count, purpose.rawValue, "cachtier", bytes)
    return key
  }

  /// Chooses the fastest implementation for this processor, once, before anything else of libsodium is used.
  private static let libraryIsReady = sodium_init() >= 0

  /// What a derived key is for. The numbers never change between releases.
  enum Purpose: UInt64 {
    case names = 1
    case seal = 2
  }
}

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
