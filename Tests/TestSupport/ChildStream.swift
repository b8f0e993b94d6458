import PlatformC

/// Both ends of one of a child's standard streams, during its start.
package struct ChildStream {
  let child: Int32
  let parent: Int32
  private let ownsChild: Bool

  init(_ stream: ChildProcess.Stream, output: ChildStream? = nil) throws {
    switch stream {
    case .captured:
      let (reading, writing) = try Self.pipe()
      self.init(child: writing, parent: reading)
    case .terminal:
      let (child, parent) = try Self.terminal()
      self.init(child: child, parent: parent)
    case .asOutput: self.init(child: output?.child ?? 2, parent: -1, ownsChild: false)
    case .descriptor(let fd): self.init(child: fd, parent: -1, ownsChild: false)
    case .discarded: self.init(child: open("/dev/null", O_RDWR | O_CLOEXEC), parent: -1)
    }
  }

  /// The child reads, the test writes.
  static func input() throws -> ChildStream {
    let (reading, writing) = try pipe()
    return ChildStream(child: reading, parent: writing)
  }

  /// The child reads what the test writes to the terminal's other end, as if a user typed it.
  static func input(from terminal: ChildStream) -> ChildStream {
    ChildStream(child: terminal.child, parent: fcntl(terminal.parent, F_DUPFD_CLOEXEC, 0), ownsChild: false)
  }

  func closeChildSide() { if ownsChild { close(child) } }

  func closeBoth() {
    closeChildSide()
    if parent >= 0 { close(parent) }
  }

  private init(child: Int32, parent: Int32, ownsChild: Bool = true) {
    (self.child, self.parent, self.ownsChild) = (child, parent, ownsChild)
  }

  /// The two ends of a new pseudo-terminal; the caller closes them.
  package static func terminal() throws -> (child: Int32, parent: Int32) {
    let parent = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard parent >= 0 else { throw ChildProcess.NotStarted(executable: "/dev/ptmx", code: errno) }
    // The Glibc module has neither ptsname nor the macros TIOCSPTLCK and TIOCGPTN.
    let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
    var (locked, number): (Int32, Int32) = (0, 0)
    _ = ioctl(parent, setLock, &locked)
    _ = ioctl(parent, getNumber, &number)
    let name = "/dev/pts/\(number)"
    let child = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
    var size = winsize(ws_row: 40, ws_col: 110, ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(parent, UInt(TIOCSWINSZ), &size)
    guard child >= 0 else {
      close(parent)
      throw ChildProcess.NotStarted(executable: name, code: errno)
    }
    return (child, parent)
  }

  private static func pipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    let failed = PlatformC.pipe(&ends) != 0
    if failed { throw ChildProcess.NotStarted(executable: "pipe", code: errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}
