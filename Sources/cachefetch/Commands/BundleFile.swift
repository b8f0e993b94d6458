internal import CacheStore
internal import PlatformC

/// The file of `export` and `import`: a store of one file, or a standard stream that carries one.
enum BundleFile {
  /// The destination of a bundle. The bundle is written beside the file and replaces it by a rename, or is copied to an
  /// open descriptor.
  struct Target {
    /// The file the operand names, links followed; a descriptor as it was named; `nil` for `-`.
    let file: String?
    /// The path the bundle is written to first.
    let part: String
    /// The descriptor that it is copied to; `nil` for a file.
    private let output: OutputDescriptor?
    private let folder: PrivateFolder?

    /// - Parameter store: The store that is exported.
    init(_ operand: String, exporting store: String, _ diagnostics: Diagnostics) throws(UsageError) {
      output = try Self.output(operand, diagnostics)
      if operand != "-" { try BundleFile.check(operand, exporting: store, isOpen: output != nil) }
      guard output == nil else {
        let folder = try BundleFile.temporaryFolder()
        file = operand == "-" ? nil : operand
        part = folder.file("bundle")
        self.folder = folder
        return
      }
      let resolved = try Paths.destination(of: operand)
      let parent = Paths.folder(of: resolved)
      guard access(parent, W_OK) == 0 else {
        throw .unwritable(operand, errno, "name a file in a folder you may write to")
      }
      file = resolved
      part = Paths.part(of: resolved)
      folder = nil
    }

    /// The descriptor that the operand stands for; `nil` if that is a file.
    private static func output(
      _ operand: String, _ diagnostics: Diagnostics
    ) throws(UsageError) -> OutputDescriptor? {
      var output: OutputDescriptor? = .standardOutput
      if operand != "-" { output = try OutputDescriptor.named(by: operand) }
      guard let number = output?.number else { return nil }
      guard operand == "-" ? !diagnostics.terminal.isOutput : isatty(number) != 1 else {
        throw UsageError("a bundle cannot be shown on a terminal", "name a file, or write > FILE")
      }
      return output
    }

    /// Renames the bundle to the file, or copies it to the descriptor.
    func commit() throws(OutputError) {
      if let output { return try copy(to: output) }
      guard let file else { return }
      guard rename(part, file) == 0 else { throw .failed(errno, path: file) }
    }

    /// Copies the bundle; an error names the descriptor as the user did.
    private func copy(to output: OutputDescriptor) throws(OutputError) {
      do throws(OutputError) { try BundleFile.copy(part, to: output) } catch {
        guard let file, case .failed(let number, _) = error else { throw error }
        throw .failed(number, path: file)
      }
    }

    /// Removes temporary files.
    func clear() {
      BundleFile.remove(part)
      folder?.remove()
    }
  }

  /// A bundle to import: the file, or standard input spooled to a private file.
  struct Source {
    let path: String
    /// How messages name it.
    let name: String
    private let folder: PrivateFolder?

    init(_ operand: String, _ diagnostics: Diagnostics) throws(UsageError) {
      guard operand == "-" else {
        guard access(operand, R_OK) == 0 else {
          throw UsageError(
            "“\(TerminalText.visible(operand))” cannot be read: \(SystemError.text(errno))",
            "name an exported file", status: .badData)
        }
        guard BundleFile.isRegular(operand) else {
          throw UsageError(
            "“\(TerminalText.visible(operand))” is not a regular file",
            "name an exported file, or write - to read standard input", status: .badData)
        }
        (path, name, folder) = (operand, "“\(TerminalText.visible(operand))”", nil)
        return
      }
      guard isatty(STDIN_FILENO) != 1 else {
        throw UsageError("a bundle cannot be typed at a terminal", "name a file, or write < FILE")
      }
      let folder = try BundleFile.temporaryFolder()
      do throws(UsageError) { try BundleFile.spool(to: folder.file("bundle")) } catch {
        folder.remove()
        throw error
      }
      (path, name, self.folder) = (folder.file("bundle"), "standard input", folder)
    }

    /// A message without the path of the private copy, which the user does not know.
    func named(in message: String) -> String {
      folder == nil ? message : message.replacing(path, with: name)
    }

    /// Removes the copy.
    func clear() { folder?.remove() }
  }

  /// Whether an export to the operand goes to standard output.
  static func isStandardOutput(_ operand: String) throws(UsageError) -> Bool {
    if operand == "-" { return true }
    return try OutputDescriptor.named(by: operand)?.number == STDOUT_FILENO
  }

  private static func isRegular(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// What the names of a store's files have after the database's: the database itself, what SQLite puts beside it, and
  /// what the store does (`StoreFiles`).
  private static let parts = [
    "", "-wal", "-shm", "-journal", ".lock", ".key", ".uses", ".uses-taken", ".tier", ".reserve", ".repaired",
  ]

  /// Removes the files of a store that is being made.
  static func remove(_ path: String) {
    for part in parts { unlink(path + part) }
  }

  /// Throws if an export must not replace the file: it is not a regular file, it is the exported store under any name,
  /// or it is another database. An open descriptor need not be a regular file's.
  static func check(_ path: String, exporting store: String, isOpen: Bool) throws(UsageError) {
    var status = stat()
    guard stat(path, &status) == 0 else {
      if isOpen || errno == ENOENT { return }
      throw .unwritable(path, errno, "name another file")
    }
    let shown = TerminalText.visible(path)
    guard status.st_mode & S_IFMT == S_IFREG else {
      if isOpen { return }
      throw UsageError(
        status.st_mode & S_IFMT == S_IFDIR
          ? "“\(shown)” is a folder" : "“\(shown)” is not a regular file", "name a file to write",
        status: .inputOutput)
    }
    for part in parts {
      var own = stat()
      guard stat(store + part, &own) == 0, own.st_dev == status.st_dev, own.st_ino == status.st_ino else {
        continue
      }
      throw UsageError("“\(shown)” is the store itself, or a part of it", "name another file")
    }
    guard isDatabase(path) else { return }
    throw UsageError(
      "“\(shown)” is a database and no exported file; what is in it would be lost",
      "name another file, or remove this one first")
  }

  /// Whether a file is a database but not an export. An export has the application ID of a store, and neither a
  /// write-ahead log nor a lock file beside it. The application ID of a store in use may be only in its log.
  private static func isDatabase(_ path: String) -> Bool {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var head = [UInt8](repeating: 0, count: 72)
    guard read(descriptor, &head, head.count) == head.count, head.starts(with: databaseMark) else {
      return false
    }
    let isStore = head[68...].elementsEqual("CFCH".utf8)
    // The file format's read and write versions: 2 means a write-ahead log (SQLite's file format, section 1.3.3).
    let isInUse =
      head[18] == 2 || head[19] == 2 || [".lock", "-wal"].contains { access(path + $0, F_OK) == 0 }
    return !isStore || isInUse
  }

  /// The magic header of every SQLite database.
  private static let databaseMark = Array("SQLite format 3\0".utf8)

  private static func temporaryFolder() throws(UsageError) -> PrivateFolder {
    do throws(OutputError) { return try PrivateFolder() } catch {
      throw UsageError(
        "there is no folder for temporary files", "name one that can be written: $TMPDIR",
        status: .inputOutput)
    }
  }

  /// Spools standard input to a file. Input without a database's header is refused before it fills the disk.
  private static func spool(to path: String) throws(UsageError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      throw .unwritable(path, errno, "set $TMPDIR")
    }
    defer { close(descriptor) }
    var isFirst = true
    do throws(OutputError) {
      try forEachPiece(of: STDIN_FILENO) { piece throws(OutputError) in
        if isFirst, !piece.starts(with: databaseMark.prefix(piece.count)) {
          throw .failed(EILSEQ, path: nil)
        }
        isFirst = false
        try OutputDescriptor(number: descriptor).write(Array(piece))
      }
    } catch .failed(EILSEQ, _) {
      throw UsageError(
        "standard input is no exported file", "pipe one that “cachefetch export” wrote", status: .badData)
    } catch .failed(let number, _) {
      throw UsageError(
        "standard input cannot be read: \(SystemError.text(number))",
        "free some disk space, or set $TMPDIR",
        status: .inputOutput)
    } catch {
      throw UsageError("standard input was not read to its end", "run it again", status: Signals.exitStatus)
    }
    if isFirst {
      throw UsageError(
        "standard input is empty", "pipe a file that “cachefetch export” wrote", status: .badData)
    }
  }

  private static func copy(_ path: String, to output: OutputDescriptor) throws(OutputError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .failed(errno, path: path) }
    defer { close(descriptor) }
    try forEachPiece(of: descriptor) { piece throws(OutputError) in try output.write(Array(piece)) }
  }

  private static func forEachPiece(
    of descriptor: Int32, _ take: (ArraySlice<UInt8>) throws(OutputError) -> Void
  ) throws(OutputError) {
    var buffer = [UInt8](repeating: 0, count: 256 << 10)
    while true {
      // A signal that comes between two calls that wait interrupts neither.
      if Signals.pending != nil { throw .interrupted }
      let count = read(descriptor, &buffer, buffer.count)
      if count > 0 {
        try take(buffer[..<count])
      } else if count == 0 {
        return
      } else if errno == EAGAIN {
        InputFile.awaitInput(of: descriptor)
      } else if errno != EINTR {
        throw .failed(errno, path: nil)
      }
    }
  }
}
