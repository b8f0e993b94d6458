import PlatformC

/// A failed system call of the server.
public struct FixtureSocketError: Error, CustomStringConvertible, Sendable {
  /// The call that failed.
  public let call: String
  /// Its `errno`.
  public let code: Int32

  /// The call and the system's message for the error.
  public var description: String { "\(call): \(String(cString: strerror(code)))" }
}

/// The few socket calls the server needs; they throw errors.
package enum Socket {
  /// A socket bound to 127.0.0.1, not yet listening; port 0 means any free one.
  package static func bound(port: UInt16) throws -> Int32 {
    let fd = try open(AF_INET)
    var one: Int32 = 1
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    var address = loopback(port)
    try bind(fd, &address)
    return fd
  }

  /// A socket bound to a path of the file system, at most about 100 bytes long.
  package static func bound(path: String) throws -> Int32 {
    let fd = try open(AF_UNIX)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    guard path.utf8.count < capacity else {
      close(fd)
      throw FixtureSocketError(call: "bind", code: ENAMETOOLONG)
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    unlink(path)
    try bind(fd, &address)
    return fd
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    return address
  }

  package static func listen(_ fd: Int32) throws {
    let failed = PlatformC.listen(fd, 1_024) != 0
    if failed { throw FixtureSocketError(call: "listen", code: errno) }
  }

  package static func port(of fd: Int32) -> UInt16 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(fd, $0, &length) }
    }
    return UInt16(bigEndian: address.sin_port)
  }

  /// A socket connected to a port of 127.0.0.1.
  package static func connected(port: UInt16) throws -> Int32 {
    let fd = try open(AF_INET)
    var address = loopback(port)
    let failed = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) != 0
      }
    }
    guard !failed else {
      defer { close(fd) }
      throw FixtureSocketError(call: "connect", code: errno)
    }
    return fd
  }

  /// Waits until there is something to read, or nothing more to come.
  package static func awaitReadable(_ fd: Int32) {
    var waiting = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
    while poll(&waiting, 1, -1) < 0, errno == EINTR {}
  }

  /// Waits for a connection; `nil` when the wake descriptor became readable or the listener was closed.
  static func accept(_ fd: Int32, wake: Int32) -> Int32? {
    var waiting = [
      pollfd(fd: fd, events: Int16(POLLIN), revents: 0), pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
    ]
    while true {
      let ready = poll(&waiting, 2, -1)
      if ready < 0, errno == EINTR { continue }
      guard ready > 0, waiting[1].revents == 0 else { return nil }
      let connection = PlatformC.accept(fd, nil, nil)
      if connection >= 0 {
        prepare(connection)
        return connection
      }
      guard [EINTR, ECONNABORTED, EAGAIN].contains(errno) else { return nil }
    }
  }

  /// Writes everything, or throws.
  static func writeAll(_ fd: Int32, _ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes
    while let base = rest.baseAddress, !rest.isEmpty {
      let written = sendQuietly(fd, base, rest.count)
      if written < 0 {
        if errno == EINTR { continue }
        throw FixtureSocketError(call: "send", code: errno)
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[written...])
    }
  }

  /// Reads what has arrived, waiting for the first byte; empty at the end of the stream.
  static func read(_ fd: Int32, upTo count: Int = 65_536) throws -> [UInt8] {
    while true {
      var failure: Int32 = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
        let received = recv(fd, buffer.baseAddress, count, 0)
        failure = received < 0 ? errno : 0
        used = max(0, received)
      }
      if failure == EINTR { continue }
      if failure != 0 { throw FixtureSocketError(call: "recv", code: failure) }
      return bytes
    }
  }

  private static func open(_ family: Int32) throws -> Int32 {
    let fd = makeSocket(family)
    guard fd >= 0 else { throw FixtureSocketError(call: "socket", code: errno) }
    return fd
  }

  private static func bind<Address>(_ fd: Int32, _ address: inout Address) throws {
    let failed = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        PlatformC.bind(fd, address, socklen_t(MemoryLayout<Address>.size)) != 0
      }
    }
    guard failed else { return }
    let code = errno
    close(fd)
    throw FixtureSocketError(call: "bind", code: code)
  }

  /// Sets the socket's options. Without TCP_NODELAY, Nagle's algorithm and delayed acknowledgements cost 40 ms for each
  /// reply on a persistent connection.
  private static func prepare(_ fd: Int32) {
    _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
    var one: Int32 = 1
    setsockopt(fd, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
  }
}
