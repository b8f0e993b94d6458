internal import PlatformFoundation

/// The ends of the parts of a URL that is already in normal form, as most are, so that none of it has to be
/// rewritten.
///
/// The plain form parses every URL: ``NormalisedURL/init(takingApart:)``.
struct NormalParts {
  let schemeEnd: Int
  let hostEnd: Int
  let authorityEnd: Int
  let pathEnd: Int
  let port: Int

  /// `nil` if the URL is in another form, or needs a full parse to tell.
  init?(_ bytes: UnsafeBufferPointer<UInt8>) {
    let isSecure = bytes.count > 4 && bytes[4] == UInt8(ascii: "s")
    let ownPort = isSecure ? 443 : 80
    schemeEnd = isSecure ? 5 : 4
    guard bytes.starts(with: isSecure ? "https://".utf8 : "http://".utf8) else { return nil }
    var index = schemeEnd + 3
    while index < bytes.count, bytes[index].isPlainInHost { index += 1 }
    hostEnd = index
    var port = 0
    if index < bytes.count, bytes[index] == UInt8(ascii: ":") {
      index += 1
      guard index < bytes.count, bytes[index] != UInt8(ascii: "0") else { return nil }
      while index < bytes.count, bytes[index].isAsciiDigit, port <= 0xFFFF {
        port = port * 10 + Int(bytes[index] - UInt8(ascii: "0"))
        index += 1
      }
      guard port > 0, port <= 0xFFFF, port != ownPort else { return nil }
    }
    self.port = port == 0 ? ownPort : port
    guard hostEnd > schemeEnd + 3, index < bytes.count, bytes[index] == UInt8(ascii: "/") else { return nil }
    authorityEnd = index
    var question: Int?
    for index in index..<bytes.count {
      let byte = bytes[index]
      guard URLText.isPlain(byte) else { return nil }
      guard question == nil else { continue }
      if byte == UInt8(ascii: "?") { question = index }
      if byte == UInt8(ascii: "."), bytes[index - 1] == UInt8(ascii: "/") { return nil }
    }
    pathEnd = question ?? bytes.count
  }
}

extension UInt8 {
  /// Whether the byte is an ordinary character of a host, which neither changes in normal form nor ends the host.
  fileprivate var isPlainInHost: Bool {
    switch self {
    case 0x30...0x39, 0x61...0x7A, 0x2D, 0x2E: true
    default: false
    }
  }
}
