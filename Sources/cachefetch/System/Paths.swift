internal import PlatformC

/// Parts of a path's text.
enum Paths {
  /// The folder that contains a file.
  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The file that a path leads to, symbolic links followed; `nil` if there is none, or its path is no text, as in a
  /// folder whose name is not UTF-8.
  static func resolved(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(validatingCString: real)
  }

  /// A name beside a file for its new content. Process IDs are not enough: containers that share a folder have the same.
  static func part(of path: String) -> String {
    let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    // A name has at most 255 bytes, those of SQLite's journal beside an export included.
    var name = path[start...]
    while name.utf8.count > 200 { name.removeLast() }
    let number = String(UInt64.random(in: .min ... .max), radix: 36)
    return "\(path[..<start])\(name).\(getpid())-\(number).part"
  }
}
