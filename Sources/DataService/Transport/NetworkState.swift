import PlatformC

/// Tells whether this machine is connected to any network.
enum NetworkState {
  /// Whether the kernel has a route to a public address, over IPv4 or IPv6.
  ///
  /// Connecting a datagram socket consults the routing table and sends nothing. The addresses are reserved for
  /// documentation (RFC 5737, RFC 3849).
  static var hasRoute: Bool { hasIPv4Route || hasIPv6Route }

  private static var hasIPv4Route: Bool {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(9).bigEndian
    address.sin_addr.s_addr = UInt32(0xCB00_7101).bigEndian  // 203.0.113.1
    return canConnect(AF_INET, &address, MemoryLayout<sockaddr_in>.size)
  }

  private static var hasIPv6Route: Bool {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = UInt16(9).bigEndian
    withUnsafeMutableBytes(of: &address.sin6_addr) { bytes in
      bytes.copyBytes(from: [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1])
    }
    return canConnect(AF_INET6, &address, MemoryLayout<sockaddr_in6>.size)
  }

  private static func canConnect<Address>(_ family: Int32, _ address: inout Address, _ size: Int) -> Bool {
    let descriptor = makeSocket(family, ofDatagrams: true)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return withUnsafeBytes(of: &address) { bytes in
      guard let base = bytes.baseAddress else { return false }
      return connect(descriptor, base.assumingMemoryBound(to: sockaddr.self), socklen_t(size)) == 0
    }
  }
}
