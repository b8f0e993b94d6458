internal import PlatformC
internal import PlatformFoundation

/// The file of `-o`: it always holds one complete body, after its head if that is wanted. New content is written beside
/// it and replaces it by a rename.
struct ReplacedFile {
  /// The path as given.
  let name: String
  /// The file itself, symbolic links followed, so that a link stays one; a descriptor as it was named.
  let path: String
  /// Writes to what is no regular file; `nil` for a file.
  private let direct: DirectOutput?
  /// The permissions that new content gets, whatever the file had; `nil` for those of a file that is replaced.
  private let mode: mode_t?
  /// Whether it is not a file to replace but a pipe, a device or an open descriptor, which bytes are written to
  /// directly.
  var isDirect: Bool { direct != nil }

  /// Prepares for a path; nothing is written yet.
  /// - Throws: An error with the exit status of an output error, if nothing can be written there.
  init(_ path: String, mode: mode_t? = nil) throws(UsageError) {
    name = path
    self.mode = mode
    if let output = try OutputDescriptor.named(by: path) {
      self.path = path
      direct = DirectOutput(output)
      return
    }
    let target = try Paths.destination(of: path)
    var status = stat()
    let exists = stat(path, &status) == 0
    // The kernel may refuse what the links themselves would allow.
    guard exists || errno == ENOENT else { throw .unwritable(path, errno, "name another file") }
    if exists, status.st_mode & S_IFMT == S_IFDIR {
      throw UsageError(
        "“\(TerminalText.visible(path))” is a folder", "name a file in it", status: .inputOutput)
    }
    let isDirect = exists && status.st_mode & S_IFMT != S_IFREG
    direct = isDirect ? DirectOutput() : nil
    self.path = isDirect ? path : target
    let folder = Paths.folder(of: self.path)
    if access(isDirect ? self.path : folder, W_OK) != 0 {
      let named = isDirect ? path : folder
      throw .unwritable(named, errno, "give a folder that can be written")
    }
  }

  /// Writes a head and the pieces of a body and, when all are written, replaces the file.
  /// - Returns: The length of the body in bytes.
  @discardableResult
  func replace(head: [UInt8] = [], with pieces: BodyPieces?) throws(BodyError) -> Int64 {
    let replacement: Replacement
    do {
      replacement = try Replacement(self)
      if !head.isEmpty { try replacement.write(Data(head)) }
    } catch {
      throw .output(error)
    }
    var count: Int64 = 0
    try pieces?.forEach { piece throws(OutputError) in
      try replacement.write(piece)
      count += Int64(piece.count)
    }
    do { try replacement.commit() } catch { throw .output(error) }
    return count
  }

  /// Writes bytes and, when all are written, replaces the file.
  func replace(with bytes: [UInt8]) throws(OutputError) {
    let replacement = try Replacement(self)
    try replacement.write(Data(bytes))
    try replacement.commit()
  }

  /// The permissions of the existing file if this user owns it. Those of another user's file are not kept, and a
  /// set-user-ID bit never is.
  fileprivate var newMode: mode_t? {
    var status = stat()
    if let mode { return mode }
    guard !isDirect, stat(path, &status) == 0, status.st_uid == geteuid() else { return nil }
    return status.st_mode & 0o777
  }

  /// The file a path leads to, links followed; `nil` if it is no link and does not exist yet.
  static func target(of path: String) -> String? {
    guard let target = try? Paths.destination(of: path) else { return nil }
    return target != path || access(path, F_OK) == 0 ? target : nil
  }

  /// New content, before it replaces the file. As long as it is what the file holds already nothing is written, and a
  /// file that holds it all is left alone.
  final class Replacement {
    private let file: ReplacedFile
    private let temporary: String
    private var output: OutputDescriptor?
    /// The old content, while the new agrees with it.
    private var old: OldContent?
    private var written = 0
    /// How many bytes the kernel has been asked to write back.
    private var begun = 0
    private static let writeBackBytes = 8 << 20
    /// Whether there is old content, which would be lost if the power failed after the rename but before the new bytes
    /// reach the disk.
    private let isReplacing: Bool

    fileprivate init(_ file: ReplacedFile) throws(OutputError) {
      self.file = file
      isReplacing = !file.isDirect && access(file.path, F_OK) == 0
      temporary = Paths.part(of: file.path)
      if let direct = file.direct {
        output = try direct.output(to: file.path)
      } else if isReplacing, file.mode == nil, let content = OldContent(file.path) {
        old = content
      } else {
        try begin()
      }
    }

    deinit { abandon() }

    private func begin() throws(OutputError) {
      let mode = file.newMode
      let opened = open(
        temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode ?? 0o666)
      guard opened >= 0 else { throw .failed(errno, path: file.path) }
      output = OutputDescriptor(number: opened)
      // The umask may have removed permissions that the old file has.
      if let mode { fchmod(opened, mode) }
    }

    /// Adds bytes.
    func write(_ bytes: Data) throws(OutputError) {
      if let old {
        if old.goesOn(with: bytes) { return }
        try diverge(from: old)
      }
      try append(bytes)
    }

    private func append(_ bytes: Data) throws(OutputError) {
      do { try output?.write(bytes) } catch { throw named(error) }
      written += bytes.count
      beginWriteBack()
    }

    /// Begins the new file with as much of the old as was the same.
    private func diverge(from content: OldContent) throws(OutputError) {
      old = nil
      try begin()
      var place = 0
      while place < content.length, let piece = content.piece(at: place) {
        try append(piece)
        place += piece.count
      }
      guard place == content.length else { throw .failed(EIO, path: file.path) }
    }

    /// Starts write-back while the rest is being read, so that the final `fsync` of a large file has little to do:
    /// Linux begins to write pages marked POSIX_FADV_DONTNEED.
    private func beginWriteBack() {
      guard isReplacing, written - begun >= Self.writeBackBytes, let descriptor = output?.number else {
        return
      }
      posix_fadvise(descriptor, off_t(begun), off_t(written - begun), POSIX_FADV_DONTNEED)
      begun = written
    }

    /// Replaces the file. If it had content, the new content is synced to the disk first, so that not even a power
    /// failure leaves half of it. A new file is not synced: after a power failure the store can write it again. A sync
    /// of 1 GiB takes eight seconds at 135 MB/s.
    func commit() throws(OutputError) {
      if let old {
        if old.isWhole(at: file.path) { return }
        try diverge(from: old)
      }
      guard let descriptor = output?.number else { return }
      output = nil
      if file.isDirect { return }
      let isSynced = !isReplacing || fsync(descriptor) == 0
      let problem = errno
      close(descriptor)
      guard isSynced, rename(temporary, file.path) == 0 else {
        let number = isSynced ? errno : problem
        unlink(temporary)
        throw .failed(number, path: file.path)
      }
    }

    /// Drops the content; the file stays as it was.
    func abandon() {
      old = nil
      guard let descriptor = output?.number else { return }
      output = nil
      if file.isDirect { return }
      close(descriptor)
      unlink(temporary)
    }

    private func named(_ error: OutputError) -> OutputError {
      if case .failed(let number, _) = error { .failed(number, path: file.path) } else { error }
    }
  }
}

/// What a file holds before it is replaced.
private final class OldContent {
  private let descriptor: Int32
  /// How many bytes of it the new content has repeated.
  private(set) var length = 0
  private static let pieceBytes = 256 << 10

  /// `nil` where the file cannot be read.
  init?(_ path: String) {
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  /// Whether it goes on with these bytes.
  func goesOn(with bytes: Data) -> Bool {
    var place = 0
    while place < bytes.count {
      let wanted = bytes.dropFirst(place).prefix(Self.pieceBytes)
      guard read(wanted.count, at: length + place) == wanted else { return false }
      place += wanted.count
    }
    length += bytes.count
    return true
  }

  /// A part of what was repeated; `nil` where it cannot be read any more.
  func piece(at place: Int) -> Data? { read(min(Self.pieceBytes, length - place), at: place) }

  /// Whether the file at the path is still this one and has no more bytes.
  func isWhole(at path: String) -> Bool {
    var (now, opened) = (stat(), stat())
    return stat(path, &now) == 0 && fstat(descriptor, &opened) == 0 && now.st_ino == opened.st_ino
      && now.st_dev == opened.st_dev && opened.st_size == length
  }

  private func read(_ count: Int, at place: Int) -> Data? {
    var bytes = Data(count: count)
    let got = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(place)) }
    return got == count ? bytes : nil
  }
}

/// A pipe or a device. It is opened by the first content and stays open for the next, as standard output does: the
/// reader of a pipe that is closed in between is at its end, and there may be no other. A descriptor that was open
/// before is used as it is, and stays open.
private final class DirectOutput {
  private var opened: OutputDescriptor?
  private let wasOpen: Bool

  init(_ descriptor: OutputDescriptor? = nil) {
    opened = descriptor
    wasOpen = descriptor != nil
  }

  deinit {
    if let opened, !wasOpen { close(opened.number) }
  }

  /// The open pipe or device. Waits for a pipe's reader as long as `-m` allows.
  func output(to path: String) throws(OutputError) -> OutputDescriptor {
    if let opened { return opened }
    while true {
      let descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      if descriptor >= 0 {
        let output = OutputDescriptor(number: descriptor)
        opened = output
        return output
      }
      let number = errno
      guard number == ENXIO, !CommandDeadline.isOver else { throw .failed(number, path: path) }
      // No event reports that a reader has opened the pipe, so poll.
      var signals = pollfd(fd: Signals.descriptor, events: Int16(POLLIN), revents: 0)
      if Signals.pending == nil { poll(&signals, 1, 20) }
      if Signals.pending != nil { throw .interrupted }
    }
  }
}

extension UsageError {
  /// A path that cannot be written, with the system's reason and the exit status of an output error.
  static func unwritable(_ path: String, _ number: Int32, _ remedy: String) -> UsageError {
    UsageError(
      "“\(TerminalText.visible(path))” cannot be written: \(SystemError.text(number))", remedy,
      status: .inputOutput)
  }

  /// A path over a symbolic link of another user's in a folder that others may write to.
  static func overAnothersLink(_ path: String) -> UsageError {
    UsageError(
      "“\(TerminalText.visible(path))” leads over another user's symbolic link in a folder that others may write to",
      "name the file itself, or one in a folder of your own", status: .inputOutput)
  }
}
