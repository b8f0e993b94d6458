import PlatformC

/// A listening socket whose queue is full, so that the next connection hangs in `connect`.
public final class FullListener: Sendable {
  /// Where it listens, on loopback.
  public let port: UInt16
  private let descriptors: [Int32]

  /// A failure of a system call.
  public struct Failed: Error {
    /// Its `errno`.
    public let code: Int32
  }

  /// Makes the socket; its queue is full on return.
  public init() throws {
    let listener = try Self.socket()
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 0) == 0 && getsockname(listener, $0, &size) == 0
      }
    }
    guard isBound else { throw Failed(code: errno) }
    port = UInt16(bigEndian: address.sin_port)
    // A queue of length 0 holds one connection. The kernel would retry the others, so their sockets are non-blocking.
    var descriptors = [listener]
    for _ in 0..<4 {
      let client = try Self.socket()
      _ = fcntl(client, F_SETFL, O_NONBLOCK)
      _ = withUnsafePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, size) }
      }
      descriptors.append(client)
    }
    self.descriptors = descriptors
  }

  deinit {
    for descriptor in descriptors { close(descriptor) }
  }

  private static func socket() throws -> Int32 {
    let descriptor = makeSocket(AF_INET)
    guard descriptor >= 0 else { throw Failed(code: errno) }
    return descriptor
  }
}
