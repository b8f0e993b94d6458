import PlatformC

/// A host without regard to its spelling: `127.1` and `127.0.0.1` are one address, which libcurl names in its own
/// way.
enum HostForm: Hashable {
  case version4(UInt32)
  case version6([UInt8])
  case name(String)

  init(_ host: String) {
    var version6 = in6_addr()
    // libcurl takes a zone off the address.
    if inet_pton(AF_INET6, String(host.prefix { $0 != "%" }), &version6) == 1 {
      self = .version6(withUnsafeBytes(of: version6) { Array($0) })
      return
    }
    let decoded = String(decoding: Array(host.utf8)[...].percentDecoded, as: UTF8.self)
    var version4 = in_addr()
    if inet_aton(decoded, &version4) != 0 {
      self = .version4(version4.s_addr)
      return
    }
    let name = decoded.lowercased()
    self = .name(name.hasSuffix(".") ? String(name.dropLast()) : name)
  }
}
