internal import CacheStore
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

  /// The file that a path leads to, be it there already or not, by links that nobody else could have put there.
  ///
  /// The kernel follows some links of other users in shared folders and refuses others, as it is set; here none is
  /// followed. What it refuses to show is an error too.
  /// - Throws: An error with the exit status of an output error.
  static func destination(of path: String) throws(UsageError) -> String {
    var found = path.hasPrefix("/") ? "/" : ""
    var parts = Array(path.split(separator: "/").reversed())
    var links = 0
    while let part = parts.popLast() {
      let folder = found
      found += folder.isEmpty || folder.hasSuffix("/") ? part : "/" + part
      guard let status = FileStatus(path: found) else {
        let number = errno
        guard number == ENOENT else { throw .unwritable(path, number, "name another file") }
        let rest = parts.reversed().map { "/" + $0 }.joined()
        return found + rest + (path.hasSuffix("/") ? "/" : "")
      }
      guard status.kind == .link else { continue }
      guard
        status.hasTrustedOwner
          || FileStatus(path: folder + (folder.isEmpty ? "." : "/."))?.isSharedFolder == false
      else {
        throw .overAnothersLink(path)
      }
      links += 1
      guard links <= mostLinks else { throw .unwritable(path, ELOOP, "name another file") }
      guard let target = text(ofLink: found) else { throw .unwritable(path, errno, "name another file") }
      found = target.hasPrefix("/") ? "/" : folder
      parts += target.split(separator: "/").reversed()
    }
    return found
  }

  /// The kernel follows no more either.
  private static let mostLinks = 40

  /// A path and what its symbolic links lead to, one after the other.
  static func links(from path: String) -> [String] {
    var links = [path]
    while links.count <= mostLinks, let next = linked(by: links[links.count - 1]) { links.append(next) }
    return links
  }

  /// What a symbolic link says; `nil` if the path is that of none, or it says no text.
  private static func text(ofLink path: String) -> String? {
    var bytes = [CChar](repeating: 0, count: 4096)
    let count = readlink(path, &bytes, bytes.count)
    return count > 0
      ? String(validating: bytes[..<count].map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self) : nil
  }

  /// Where a symbolic link leads.
  private static func linked(by path: String) -> String? {
    guard let target = text(ofLink: path) else { return nil }
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
