extension FixtureReply {
  /// The message in one array, so that head and body are sent together.
  func bytes(answering method: String) -> [UInt8] {
    var out = headBytes
    guard method != "HEAD", hasBody else { return out }
    guard let chunkSize else { return out + body }
    var rest = body[...]
    while !rest.isEmpty {
      let piece = rest.prefix(chunkSize)
      out += Self.chunk(piece)
      rest = rest.dropFirst(piece.count)
    }
    return out + Array("0\r\n\r\n".utf8)
  }

  /// The status line and fields with the empty line after them.
  var headBytes: [UInt8] {
    var out = Array("\(version) \(status) \(reason)\r\n".utf8)
    for field in fields + framing { out += field.rawName + [0x3A, 0x20] + field.rawValue + [0x0D, 0x0A] }
    return out + [0x0D, 0x0A]
  }

  static func chunk(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [0x0D, 0x0A]
  }

  private var hasBody: Bool { status >= 200 && status != 204 && status != 304 }

  private var framing: [FixtureField] {
    var added: [FixtureField] = []
    let named = fields.contains { $0.isNamed("Content-Length") || $0.isNamed("Transfer-Encoding") }
    if hasBody, !named {
      added.append(
        chunkSize == nil
          ? FixtureField("Content-Length", String(body.count)) : FixtureField("Transfer-Encoding", "chunked"))
    }
    if !keepAlive, !fields.contains(where: { $0.isNamed("Connection") }) {
      added.append(FixtureField("Connection", "close"))
    }
    return added
  }
}
