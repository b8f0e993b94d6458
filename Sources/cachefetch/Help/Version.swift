/// `--version`.
enum Version {
  /// This program's version (semver.org), the one place where it stands.
  static let number = "0.1.0"

  /// The versions of this program and of the libraries that do its work, and what they bring.
  static func text() -> String { "cachefetch \(number)\n" }
}
