internal import PlatformC

extension OutputDescriptor {
  /// The open descriptor that a path stands for: `/dev/stdout`, `/dev/fd/3`, or the file that standard output or
  /// standard error goes to. Such a file must not be replaced: what is written to the descriptor afterwards would go to
  /// the old one.
  /// - Returns: `nil` if the path stands for no descriptor.
  /// - Throws: An error with the exit status of an output error, if the descriptor cannot be written.
  static func named(by path: String) throws(UsageError) -> OutputDescriptor? {
    for link in Paths.links(from: path) {
      guard let number = descriptor(at: link) else { continue }
      guard isInherited(number), isWritable(number) else {
        throw .unwritable(path, EBADF, "open it for writing, or name a file")
      }
      return OutputDescriptor(number: number)
    }
    return stream(to: path)
  }

  /// The number in a path such as `/proc/self/fd/1`; `nil` if it is another one.
  private static func descriptor(at path: String) -> Int32? {
    guard let name = path.split(separator: "/").last, let number = Int32(name), number >= 0,
      String(name) == String(number), let folder = Paths.resolved(Paths.folder(of: path))
    else { return nil }
    return folder == Paths.resolved("/proc/self/fd") ? number : nil
  }

  /// Standard output or standard error, if it goes to that regular file.
  private static func stream(to path: String) -> OutputDescriptor? {
    var file = stat()
    guard stat(path, &file) == 0, file.st_mode & S_IFMT == S_IFREG else { return nil }
    for stream in [standardOutput, standardError] where isWritable(stream.number) {
      var own = stat()
      guard fstat(stream.number, &own) == 0 else { continue }
      if own.st_dev == file.st_dev, own.st_ino == file.st_ino { return stream }
    }
    return nil
  }

  /// Whether the command inherited it; its own files are closed on exec.
  private static func isInherited(_ number: Int32) -> Bool { fcntl(number, F_GETFD) & FD_CLOEXEC == 0 }

  private static func isWritable(_ number: Int32) -> Bool {
    let flags = fcntl(number, F_GETFL)
    return flags >= 0 && flags & O_ACCMODE != O_RDONLY
  }
}
