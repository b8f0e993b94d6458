#if os(Linux) && !PORTABLE
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
      let decoded = Self.decoded(host)
      var version4 = in_addr()
      if inet_aton(decoded, &version4) != 0 {
        self = .version4(version4.s_addr)
        return
      }
      let name = decoded.lowercased()
      self = .name(name.hasSuffix(".") ? String(name.dropLast()) : name)
    }

    /// The host with what is percent-encoded decoded.
    private static func decoded(_ host: String) -> String {
      let bytes = Array(host.utf8)
      var output: [UInt8] = []
      var index = 0
      while index < bytes.count {
        if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
          let high = bytes[index + 1].hexDigitValue, let low = bytes[index + 2].hexDigitValue
        {
          output.append(high << 4 | low)
          index += 3
        } else {
          output.append(bytes[index])
          index += 1
        }
      }
      return String(decoding: output, as: UTF8.self)
    }
  }
#endif
