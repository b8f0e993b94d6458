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

  /// The file that a path leads to, be it there already or not; `nil` if links lead in a circle.
  static func destination(of path: String) -> String? {
    if access(path, F_OK) == 0 { return resolved(path) ?? path }
    return links(from: path).last.flatMap { linked(by: $0) == nil ? $0 : nil }
  }

  /// A path and what its symbolic links lead to, one after the other.
  static func links(from path: String) -> [String] {
    var links = [path]
    // The kernel follows no more than 40 either.
    while links.count <= 40, let next = linked(by: links[links.count - 1]) { links.append(next) }
    return links
  }

  /// Where a symbolic link leads; `nil` if the path is that of none, or what it leads to is no text.
  private static func linked(by path: String) -> String? {
    var bytes = [CChar](repeating: 0, count: 4096)
    let count = readlink(path, &bytes, bytes.count)
    guard count > 0,
      let target = String(validating: bytes[..<count].map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
    else { return nil }
    if target.hasPrefix("/") { return target }
    let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    return "\(path[..<start])\(target)"
  }

  /// A name beside a file for its new content. Process IDs are not enough: containers that share a folder have the
  /// same.
  static func part(of path: String) -> String {
    let start = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    // A name has at most 255 bytes, those of SQLite's journal beside an export included.
    var name = path[start...]
    while name.utf8.count > 200 { name.removeLast() }
    let number = String(UInt64.random(in: .min ... .max), radix: 36)
    return "\(path[..<start])\(name).\(getpid())-\(number).part"
  }
}
