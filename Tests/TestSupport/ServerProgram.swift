import PlatformC

/// The programs of the servers that tests start.
enum ServerProgram {
  /// The path of a program: in `PATH`, in a system folder, or where `scripts/setup` unpacks it.
  static func path(of name: String) -> String? {
    let path = getenv("PATH").map { String(cString: $0) } ?? ""
    let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let folders =
      path.split(separator: ":").map(String.init)
      + ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/homebrew/bin"]
      + ["\(root)/.build/servers/usr/bin", "\(root)/.build/servers/usr/sbin"]
    return folders.lazy.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
  }
}
