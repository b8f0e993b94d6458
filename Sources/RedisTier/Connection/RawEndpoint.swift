internal import PlatformC

/// Where a ``RawConnection`` leads, and how it is secured.
struct RawEndpoint: Sendable, Hashable {
  /// The host's name or address; the certificate has to be its.
  var host: String
  /// The port.
  var port: Int
  /// The path of a unix socket that is connected to in place of the host.
  var unixSocket: String?
  /// Whether the connection is encrypted, and the peer's certificate verified.
  var isSecure = false
  /// A file of certificate authorities in place of the system's.
  var certificateAuthorityFile: String?
  /// The client's certificate.
  var clientCertificateFile: String?
  /// The client's key.
  var clientKeyFile: String?

  /// Makes an endpoint without TLS.
  init(host: String, port: Int, unixSocket: String? = nil) {
    (self.host, self.port, self.unixSocket) = (host, port, unixSocket)
  }

  /// The host and port, or the socket's path, for a person.
  var name: String { unixSocket ?? "\(host):\(port)" }

  /// Host and port as in a URL.
  var authority: String {
    host.contains(":") && !host.hasPrefix("[") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}

/// The address of a socket, as the system takes it.
struct SocketAddress {
  private var storage = sockaddr_storage()
  private let length: socklen_t

  private init<Address>(_ address: Address) {
    length = socklen_t(MemoryLayout<Address>.size)
    withUnsafeMutableBytes(of: &storage) { storage in
      withUnsafeBytes(of: address) { storage.copyMemory(from: $0) }
    }
  }

  /// The addresses of an endpoint in the order in which they are tried; none where a name has to be looked up, which
  /// waits.
  static func known(_ endpoint: RawEndpoint) -> [SocketAddress] {
    if let path = endpoint.unixSocket { return unix(path).map { [$0] } ?? [] }
    // The name of this machine in every resolver (RFC 6761).
    let hosts = endpoint.host.lowercased() == "localhost" ? ["::1", "127.0.0.1"] : [endpoint.host]
    guard let port = UInt16(exactly: endpoint.port) else { return [] }
    return hosts.compactMap { version4($0, port) ?? version6($0, port) }
  }

  /// `AF_UNIX`, `AF_INET` or `AF_INET6`.
  var family: Int32 { Int32(storage.ss_family) }

  /// Connects a socket to it.
  /// - Returns: 0, or the number of an error.
  func connect(_ descriptor: Int32) -> Int32 {
    withUnsafePointer(to: storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        PlatformC.connect(descriptor, $0, length) == 0 ? 0 : errno
      }
    }
  }

  private static func unix(_ path: String) -> SocketAddress? {
    var address = sockaddr_un()
    // The path needs one byte for its terminating NUL.
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return SocketAddress(address)
  }

  private static func version4(_ host: String, _ port: UInt16) -> SocketAddress? {
    var address = sockaddr_in()
    guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { return nil }
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    return SocketAddress(address)
  }

  private static func version6(_ host: String, _ port: UInt16) -> SocketAddress? {
    var address = sockaddr_in6()
    guard inet_pton(AF_INET6, host, &address.sin6_addr) == 1 else { return nil }
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = port.bigEndian
    return SocketAddress(address)
  }
}
