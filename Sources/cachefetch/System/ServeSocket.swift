internal import PlatformC

/// `STORE.serve`: the Unix socket beside a store on which `serve` listens.
enum ServeSocket {
  static func path(besides store: String) -> String { store + ".serve" }

  /// A connection to whoever listens there; `nil` where nobody does, or cannot take one more at once.
  static func connected(to path: String) -> Int32? {
    let socket = made()
    // Without a `serve` a command makes these two calls and no third: the end of the process closes the socket.
    return call(connect, socket, path) ? socket : nil
  }

  /// A socket that listens at a path, for its user alone, in place of the socket that a killed process has left there.
  static func listening(at path: String) throws(OutputError) -> Int32 {
    var status = stat()
    if lstat(path, &status) == 0 {
      guard status.st_mode & S_IFMT == S_IFSOCK else { throw .failed(EEXIST, path: path) }
      unlink(path)
    }
    let socket = made()
    let mask = umask(0o177)
    let isBound = call(bind, socket, path)
    umask(mask)
    guard isBound, listen(socket, SOMAXCONN) == 0 else {
      defer { close(socket) }
      throw .failed(errno, path: path)
    }
    return socket
  }

  /// The socket that systemd has handed over (sd_listen_fds(3)), if there is one.
  static func inherited() -> Int32? {
    guard Environment.value("LISTEN_PID") == String(getpid()), Environment.value("LISTEN_FDS") == "1" else {
      return nil
    }
    var (listens, length): (Int32, socklen_t) = (0, 4)
    getsockopt(3, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length)
    return listens != 0 ? prepared(3) : nil
  }

  /// Accepts a connection of this user; `nil` with `EPERM` for one of another, and where there is none.
  static func accepted(on listener: Int32) -> Int32? {
    let socket = accept(listener, nil, nil)
    guard socket >= 0 else { return nil }
    // `struct ucred`: process, user, group.
    var peer: (Int32, UInt32, UInt32) = (0, .max, .max)
    var length = socklen_t(MemoryLayout.size(ofValue: peer))
    getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length)
    if peer.1 == geteuid() { return prepared(socket) }
    close(socket)
    errno = EPERM
    return nil
  }

  /// Sends what there is room for, and returns how many bytes that is.
  static func send(_ bytes: ArraySlice<UInt8>, on socket: Int32) -> Int {
    bytes.withUnsafeBytes { sendQuietly(socket, $0.baseAddress, $0.count) }
  }

  /// Identifies what is at a path.
  static func identity(at path: String) -> UInt64? {
    var status = stat()
    return lstat(path, &status) == 0 ? UInt64(status.st_ino) : nil
  }

  private static func made() -> Int32 {
    socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
  }

  private static func prepared(_ socket: Int32) -> Int32 {
    _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
    _ = fcntl(socket, F_SETFL, O_NONBLOCK)
    return socket
  }

  private static func call(
    _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ socket: Int32, _ path: String
  ) -> Bool {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
      errno = ENAMETOOLONG
      return false
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        call(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
  }
}
