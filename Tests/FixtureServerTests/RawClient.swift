import PlatformC

/// A client of bare sockets, so that the server is not tested with what it is there to test.
final class RawClient {
  struct Refused: Error {}
  struct Failed: Error {
    let code: Int32
  }

  private var fd: Int32
  private var buffer: [UInt8] = []

  init(port: UInt16) throws {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    fd = makeSocket(AF_INET)
    let descriptor = fd
    let failed = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) != 0
      }
    }
    if failed { throw errno == ECONNREFUSED ? Refused() as any Error : Failed(code: errno) }
  }

  deinit { close() }

  func close() {
    guard fd >= 0 else { return }
    _ = PlatformC.close(fd)
    fd = -1
  }

  func send(_ text: String) throws {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { Self.send(fd, $0) }
      guard written > 0 else { throw Failed(code: errno) }
      rest = rest.dropFirst(written)
    }
  }

  /// Sends a request and reads one reply with a `Content-Length`, or none.
  func exchange(_ request: String) throws -> String {
    try send(request)
    return try readMessage()
  }

  func readMessage() throws -> String {
    let head = try readHead()
    let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
    let length = line.flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
    while buffer.count < length { if try !fill() { break } }
    defer { buffer.removeFirst(min(length, buffer.count)) }
    return head + String(decoding: buffer.prefix(length), as: UTF8.self)
  }

  func readHead() throws -> String {
    while true {
      let text = String(decoding: buffer, as: UTF8.self)
      if let end = text.utf8.indices.first(where: { text.utf8[$0...].starts(with: "\r\n\r\n".utf8) }) {
        let head = String(text[..<end]) + "\r\n\r\n"
        buffer.removeFirst(head.utf8.count)
        return head
      }
      guard try fill() else { return text }
    }
  }

  func readToEnd() throws -> String {
    while try fill() {}
    defer { buffer = [] }
    return String(decoding: buffer, as: UTF8.self)
  }

  /// Without the signal that a broken connection would send to the whole test run.
  private static func send(_ fd: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    sendQuietly(fd, bytes.baseAddress, bytes.count)
  }

  private func fill() throws -> Bool {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let received = read(fd, &bytes, bytes.count)
    guard received >= 0 else { throw Failed(code: errno) }
    buffer += bytes[..<received]
    return received > 0
  }
}
