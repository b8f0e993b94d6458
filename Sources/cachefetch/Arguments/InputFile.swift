internal import CPlatform
internal import Guards
internal import PlatformC
internal import Synchronization

/// Reads files and standard input, named by options, completely.
enum InputFile {
  /// The bytes of `path`; `-` is standard input. At most 256 MiB. Waits for a pipe or a terminal as long as `-m`
  /// allows; a signal ends the wait.
  static func read(_ path: String, for option: String) throws(UsageError) -> [UInt8] {
    if path == "-" { try takeStandardInput(for: option) }
    if let bytes = memory.withLock({ $0?[path] }) { return bytes }
    let bytes = try readAnew(path, for: option)
    memory.withLock { $0?[path] = bytes }
    return bytes
  }

  /// Whether something has read standard input already.
  private static let isStandardInputTaken = Atomic(false)

  /// Standard input can be read once. A second option would read nothing and send an empty body.
  private static func takeStandardInput(for option: String) throws(UsageError) {
    // The background process gets the contents that the first process read, so any number of options may use them.
    if ProcessStart.isBackground { return }
    guard isStandardInputTaken.exchange(true, ordering: .relaxed) else { return }
    throw UsageError(
      "\(option) names standard input, which another option has read", "put one of the two into a file")
  }

  private static func readAnew(_ path: String, for option: String) throws(UsageError) -> [UInt8] {
    let isStandardInput = path == "-"
    // A plain `open` would block on a pipe without a writer.
    let descriptor = isStandardInput ? STDIN_FILENO : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw unreadable(path, option, errno) }
    defer { if !isStandardInput { close(descriptor) } }
    let waits = !isRegular(descriptor)
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      if waits { try wait(for: descriptor, path, option) }
      let count = PlatformC.read(descriptor, &buffer, buffer.count)
      if count == 0 { return bytes }
      if count < 0 {
        if errno == EAGAIN || errno == EINTR && Signals.pending == nil { continue }
        throw unreadable(path, option, errno)
      }
      bytes += buffer[..<count]
      if bytes.count > 256 << 20 {
        throw UsageError(
          "\(option) “\(TerminalText.visible(path))” is larger than 256 MiB", "name a smaller file")
      }
    }
  }

  /// The contents read so far, by path as written; `nil` unless they must be remembered.
  private static let memory = Guarded<[String: [UInt8]]?>(nil)

  /// Starts to remember what is read, so that ``remembered`` can be passed to another process.
  static func remember() { memory.withLock { $0 = $0 ?? [:] } }

  /// The contents read since ``remember()``.
  static var remembered: [String: [UInt8]] { memory.withLock { $0 ?? [:] } }

  /// Forgets what was read since ``remember()``, and remembers nothing more.
  static func forget() {
    if !ProcessStart.isBackground { memory.withLock { $0 = nil } }
  }

  /// From now on, these bytes are read in place of the files at the paths.
  static func recall(_ files: [String: [UInt8]]) { memory.withLock { $0 = files } }

  /// A path that a blocking library can open safely: `path` itself if it is a file, otherwise that of a copy of its
  /// contents (a pipe, as from `<(…)`).
  static func steadyPath(_ path: String, for option: String) throws(UsageError) -> String {
    var status = stat()
    let isThere = stat(path, &status) == 0
    // A path that only the first process could read is missing here; its contents were passed on.
    guard isThere ? ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) : isRemembered(path) else {
      return path
    }
    let bytes = try read(path, for: option)
    let copy = cplatform_memory_file("cachefetch")
    guard copy >= 0 else { throw unreadable(path, option, errno) }
    do throws(OutputError) {
      try OutputDescriptor(number: copy).write(bytes)
    } catch {
      close(copy)
      throw unreadable(path, option, ENOSPC)
    }
    // The descriptor stays open as long as the process runs.
    return "/proc/self/fd/\(copy)"
  }

  private static func isRegular(_ descriptor: Int32) -> Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Waits until there is something to read, or the end of the file.
  private static func wait(for descriptor: Int32, _ path: String, _ option: String) throws(UsageError) {
    var polled = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: Signals.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    while Signals.pending == nil {
      let ready = poll(&polled, 2, CommandDeadline.remainingMilliseconds)
      if ready > 0, polled[0].revents != 0 { return }
      if ready == 0, CommandDeadline.isOver {
        throw UsageError(
          "\(option) “\(TerminalText.visible(path))” was not whole in time",
          "see to who writes it, or give it more time with -m", status: .nothing)
      }
    }
    throw unreadable(path, option, EINTR)
  }

  private static func unreadable(_ path: String, _ option: String, _ number: Int32) -> UsageError {
    UsageError(
      "\(option) “\(TerminalText.visible(path))” cannot be read: \(SystemError.text(number))",
      SystemError.remedy(number) ?? "give a readable file",
      status: Signals.pending == nil ? .usage : Signals.exitStatus)
  }

  /// Whether a file can be opened for reading.
  static func isReadable(_ path: String) -> Bool { access(path, R_OK) == 0 || isRemembered(path) }

  private static func isRemembered(_ path: String) -> Bool { memory.withLock { $0?[path] != nil } }

  /// Whether a path is that of a file with a private key, in PEM.
  static func isPrivateKey(_ path: String) -> Bool {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    guard isRegular(descriptor), case let count = PlatformC.read(descriptor, &bytes, bytes.count), count > 0
    else {
      return false
    }
    return bytes[..<count].firstRange(of: Array("PRIVATE KEY-----".utf8)) != nil
  }

  /// Whether a file with this path exists.
  static func isThere(_ path: String) -> Bool { !path.isEmpty && access(path, F_OK) == 0 }
}

extension InputFile {
  /// A line of standard input, without its line feed; `nil` at its end.
  static func line() -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while true {
      // A signal just before a read would not end it.
      awaitInput(of: STDIN_FILENO)
      let count = Signals.pending == nil ? PlatformC.read(STDIN_FILENO, &byte, 1) : 0
      if count == 1, byte != 0x0A {
        bytes.append(byte)
      } else if count == 1 {
        return String(decoding: bytes, as: UTF8.self)
      } else if count == 0 || errno != EINTR && errno != EAGAIN {
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
      }
    }
  }

  /// Waits until a descriptor, which another program may have made non-blocking, can be read, or a signal comes.
  static func awaitInput(of descriptor: Int32) {
    var polled = [
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: Signals.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    while Signals.pending == nil, poll(&polled, 2, -1) < 0, errno == EINTR {}
  }
}
