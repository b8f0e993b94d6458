import CacheStore
import DataService
import FixtureServer
import Foundation
import TestSupport
import Testing

/// One way in which a server misbehaves, and how an exchange with it has to end.
struct HostileServer: Sendable, CustomTestStringConvertible {
  typealias Answer = @Sendable (FixtureConnection) throws -> Void

  /// The behaviour, as a sentence's subject.
  let name: String
  /// The kind of error that the exchange ends with.
  let kind: DataServiceError.Kind
  /// Whether a head is delivered before the error.
  let hasHead: Bool
  /// What the server does once it has the request. It ends with the connection closed unless it waits.
  let answer: Answer
  /// Those of time are long but for one that the case is about: what is silent is silent for ever, and
  /// nothing else may end the exchange, however busy the machine is.
  var limits = Limits.unhurried

  var testDescription: String { name }

  init(_ name: String, _ kind: DataServiceError.Kind, hasHead: Bool = false, _ answer: @escaping Answer) {
    self.name = name
    self.kind = kind
    self.hasHead = hasHead
    self.answer = answer
    limits.bodyBytes = 1 << 20
    limits.retries = 0
  }

  /// Sends text as it is and closes.
  init(_ name: String, _ kind: DataServiceError.Kind, hasHead: Bool = false, sends text: String) {
    self.init(name, kind, hasHead: hasHead) { connection in
      try connection.sendRaw(text)
      connection.close()
    }
  }

  /// Sends bytes as they are and closes.
  init(_ name: String, _ kind: DataServiceError.Kind, hasHead: Bool = false, bytes: [UInt8]) {
    self.init(name, kind, hasHead: hasHead) { connection in
      try connection.sendRaw(bytes)
      connection.close()
    }
  }

  /// Sends text as it is, then resets the connection.
  static func resetting(
    _ name: String, _ kind: DataServiceError.Kind, hasHead: Bool = false, after text: String
  )
    -> Self
  {
    Self(name, kind, hasHead: hasHead) { connection in
      if !text.isEmpty { try connection.sendRaw(text) }
      connection.reset()
    }
  }

  /// Sends text as it is, then nothing until the client gives up.
  static func silent(
    _ name: String, _ phase: DataServiceError.Kind.Phase, hasHead: Bool = false, after text: String
  ) -> Self {
    var server = Self(name, .timeout(phase), hasHead: hasHead) { connection in
      if !text.isEmpty { try connection.sendRaw(text) }
      connection.waitForPeerClose()
    }
    if phase == .idle { server.limits.idleTimeout = .milliseconds(60) }
    if phase == .firstByte { server.limits.firstByteTimeout = .milliseconds(60) }
    return server
  }

  /// Sends a head, then pieces of a body without end.
  static func endless(_ name: String, head: String, piece: [UInt8]) -> Self {
    Self(name, .tooLarge, hasHead: true) { connection in
      try connection.sendRaw(head)
      while true { try connection.sendRaw(piece) }
    }
  }
}

extension HostileServer {
  /// An answer that is odd, and taken: the fields that are left of it, and its body.
  struct Taken: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    let fields: HTTPFields
    let body: String
  }

  /// A field with a bad name is dropped, and a body in a coding that nobody can undo passes as it is.
  static let taken: [Taken] = [
    Taken(
      testDescription: "Latin-1 in a field's name",
      bytes: Array(ok.utf8) + [0xE9, 0x3A, 0x31, 13, 10] + Array("A: 1\r\n\r\nhello".utf8),
      fields: ["A": "1"], body: "hello"),
    Taken(
      testDescription: "a field without a name",
      bytes: Array("\(ok): nobody\r\nContent-Length: 0\r\n\r\n".utf8), fields: ["Content-Length": "0"],
      body: ""),
    Taken(
      testDescription: "an unknown coding", bytes: coded("zz", Array("hello".utf8)),
      fields: ["Content-Encoding": "zz", "Content-Length": "5"], body: "hello"),
  ]

  /// Every behaviour that a single exchange shows and that is refused.
  static let all = heads + fields + lengths + chunks + codings + interims + silences

  private static let ok = "HTTP/1.1 200 OK\r\n"

  private static let heads: [HostileServer] = [
    HostileServer("close without an answer", .disconnected) { $0.close() },
    .resetting("reset without an answer", .disconnected, after: ""),
    HostileServer("close within the version", .disconnected, sends: "HTTP/1."),
    HostileServer("close within the status", .disconnected, sends: "HTTP/1.1 20"),
    HostileServer("close within the reason", .disconnected, sends: "HTTP/1.1 200 O"),
    HostileServer("close after the status line", .disconnected, sends: ok),
    HostileServer("close within a field's name", .disconnected, sends: ok + "Content-Le"),
    HostileServer("close within a field's value", .disconnected, sends: ok + "Content-Length: 1"),
    HostileServer("close before the empty line", .disconnected, sends: ok + "Content-Length: 5\r\n"),
    HostileServer("close within the empty line", .disconnected, sends: ok + "Content-Length: 5\r\n\r"),
    HostileServer("close within the empty line, without a length", .disconnected, sends: ok + "A: b\r\n\r"),
    .resetting("reset within the status line", .disconnected, after: "HTTP/1.1 2"),
    .resetting("reset after the status line", .disconnected, after: ok),
    .resetting("reset within the fields", .disconnected, after: ok + "Content-Length: 5\r\nX-A: b"),
    HostileServer("garbage in place of a status line", .protocol, sends: "what?\r\n\r\n"),
    HostileServer("the banner of another protocol", .protocol, sends: "SSH-2.0-OpenSSH_9.2\r\n"),
    HostileServer("a status line of another protocol", .protocol, sends: "ICY 200 OK\r\n\r\nhello"),
    HostileServer("binary zeros", .protocol, bytes: [UInt8](repeating: 0, count: 64)),
    HostileServer("a body without a head (HTTP/0.9)", .protocol, sends: "<html>hello</html>"),
    HostileServer("a status that is not a number", .protocol, sends: "HTTP/1.1 abc OK\r\n\r\n"),
    HostileServer("a status of two digits", .protocol, sends: "HTTP/1.1 20 OK\r\n\r\n"),
    HostileServer("a status of four digits", .protocol, sends: "HTTP/1.1 2000 OK\r\n\r\n"),
    HostileServer("a status below 100", .protocol, sends: "HTTP/1.1 099 Low\r\n\r\n"),
    HostileServer("a version that does not exist", .protocol, sends: "HTTP/9.9 200 OK\r\n\r\n"),
    HostileServer("a version without a number", .protocol, sends: "HTTP/ 200 OK\r\n\r\n"),
    HostileServer("a negative status", .protocol, sends: "HTTP/1.1 -200 OK\r\n\r\n"),
  ]

  private static let fields: [HostileServer] = [
    HostileServer(
      "300 kB of fields in many lines", .protocol,
      sends: ok + (0..<300).map { "X-\($0): \(String(repeating: "x", count: 1_000))\r\n" }.joined() + "\r\n"),
    HostileServer(
      "one field of 300 kB", .protocol, sends: ok + "X-A: \(String(repeating: "x", count: 300_000))\r\n\r\n"),
    HostileServer(
      "1,001 fields", .protocol, sends: ok + (0..<1_001).map { "X-\($0): y\r\n" }.joined() + "\r\n"),
    HostileServer("a NUL in a field's value", .protocol, bytes: Array("\(ok)X-A: b\0c\r\n\r\n".utf8)),
    HostileServer("a NUL in a field's name", .protocol, bytes: Array("\(ok)X\0A: b\r\n\r\n".utf8)),
    HostileServer("a field without a colon", .protocol, sends: ok + "nonsense\r\nContent-Length: 0\r\n\r\n"),
    HostileServer("a space before the colon", .protocol, sends: ok + "Content-Length : 0\r\n\r\n"),
    HostileServer(
      "a carriage return in a value", .protocol, sends: ok + "X-A: b\rX-C: d\r\nContent-Length: 0\r\n\r\n"),
    HostileServer("fields that begin with a continuation", .protocol, sends: ok + " folded: 1\r\n\r\n"),
  ]

  private static let lengths: [HostileServer] = [
    HostileServer(
      "a Content-Length that is not a number", .protocol, sends: ok + "Content-Length: five\r\n\r\nhello"),
    HostileServer("a negative Content-Length", .protocol, sends: ok + "Content-Length: -5\r\n\r\nhello"),
    HostileServer("an empty Content-Length", .protocol, sends: ok + "Content-Length:\r\n\r\nhello"),
    HostileServer(
      "a Content-Length that overflows", .protocol,
      sends: ok + "Content-Length: 99999999999999999999\r\n\r\nhello"),
    HostileServer(
      "two different Content-Lengths", .protocol,
      sends: ok + "Content-Length: 5\r\nContent-Length: 4\r\n\r\nhello"),
    HostileServer(
      "a list of different Content-Lengths", .protocol, sends: ok + "Content-Length: 5, 4\r\n\r\nhello"),
    HostileServer(
      "close before the body", .truncated, hasHead: true, sends: ok + "Content-Length: 5\r\n\r\n"),
    HostileServer(
      "close within the body", .truncated, hasHead: true, sends: ok + "Content-Length: 5\r\n\r\nhell"),
    .resetting(
      "reset within the body", .truncated, hasHead: true, after: ok + "Content-Length: 50\r\n\r\nhell"),
    HostileServer(
      "a Content-Length over the limit", .tooLarge, sends: ok + "Content-Length: 1048577\r\n\r\nhello"),
    .endless(
      "a body without length or end", head: ok + "Connection: close\r\n\r\n",
      piece: [UInt8](repeating: 97, count: 9_999)
    ),
  ]

  private static let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"

  private static let chunks: [HostileServer] = [
    HostileServer("close before the first chunk", .truncated, hasHead: true, sends: chunked),
    HostileServer("close within a chunk's size", .truncated, hasHead: true, sends: chunked + "5"),
    HostileServer("close within a chunk", .truncated, hasHead: true, sends: chunked + "5\r\nhell"),
    HostileServer("close after a chunk", .truncated, hasHead: true, sends: chunked + "5\r\nhello\r\n"),
    HostileServer(
      "close within the last chunk", .truncated, hasHead: true, sends: chunked + "5\r\nhello\r\n0\r\n"),
    HostileServer(
      "close within the trailers", .truncated, hasHead: true, sends: chunked + "5\r\nhello\r\n0\r\nX-A: b"),
    .resetting("reset within a chunk", .truncated, hasHead: true, after: chunked + "5\r\nhe"),
    HostileServer(
      "a chunk size that is not a number", .protocol, hasHead: true,
      sends: chunked + "zz\r\nhello\r\n0\r\n\r\n"),
    HostileServer(
      "a negative chunk size", .protocol, hasHead: true, sends: chunked + "-5\r\nhello\r\n0\r\n\r\n"),
    HostileServer(
      "a chunk size that overflows", .protocol, hasHead: true,
      sends: chunked + "FFFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n"),
    HostileServer(
      "a chunk longer than its size", .protocol, hasHead: true, sends: chunked + "3\r\nhello\r\n0\r\n\r\n"),
    HostileServer("an empty chunk size", .protocol, hasHead: true, sends: chunked + "\r\nhello\r\n0\r\n\r\n"),
    .endless("chunks without end", head: chunked, piece: Array("5\r\nhello\r\n".utf8)),
    HostileServer(
      "an unknown transfer coding", .protocol,
      sends: ok + "Transfer-Encoding: zz, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
  ]

  private static func coded(_ coding: String, _ body: [UInt8]) -> [UInt8] {
    Array("\(ok)Content-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
  }

  private static let codings: [HostileServer] = [
    HostileServer(
      "a plain body that claims gzip", .protocol, hasHead: true, bytes: coded("gzip", Array("hello".utf8))),
    HostileServer(
      "a plain body that claims deflate", .protocol, hasHead: true,
      bytes: coded("deflate", Array("hello".utf8))),
    HostileServer(
      "a plain body that claims br", .protocol, hasHead: true, bytes: coded("br", Array("hello world".utf8))),
    HostileServer(
      "a plain body that claims zstd", .protocol, hasHead: true, bytes: coded("zstd", Array("hello".utf8))),
    HostileServer(
      "gzip with a wrong checksum", .protocol, hasHead: true,
      bytes: coded("gzip", Gzip.hello.dropLast(8) + [1, 2, 3, 4, 5, 0, 0, 0])),
    HostileServer(
      "gzip with bytes after its end", .protocol, hasHead: true,
      bytes: coded("gzip", Gzip.hello + Array("more".utf8))),
    HostileServer(
      "gzip of two members", .protocol, hasHead: true, bytes: coded("gzip", Gzip.hello + Gzip.hello)),
    HostileServer(
      "gzip with a wrong length", .protocol, hasHead: true,
      bytes: coded("gzip", Gzip.hello.dropLast(4) + [9, 9, 9, 9])),
    HostileServer(
      "nine codings one on top of the other", .protocol,
      bytes: coded(Array(repeating: "gzip", count: 9).joined(separator: ", "), Gzip.hello)),
    HostileServer("a bomb of gzip", .tooLarge, hasHead: true, bytes: coded("gzip", Gzip.bomb)),
  ]

  private static let interims: [HostileServer] = [
    HostileServer(
      "101 without having been asked", .protocol,
      sends: "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n\(ok)\r\n"),
    HostileServer("a flood of 103", .protocol) { connection in
      while true { try connection.sendRaw("HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n") }
    },
    HostileServer("a flood of 100", .protocol) { connection in
      let some = String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 100)
      while true { try connection.sendRaw(some) }
    },
    HostileServer("close after a 100", .disconnected, sends: "HTTP/1.1 100 Continue\r\n\r\n"),
  ]

  private static let silences: [HostileServer] = [
    .silent("silence", .firstByte, after: ""),
    .silent("silence within the status line", .firstByte, after: "HTTP/1.1 2"),
    .silent("silence after the status line", .idle, after: ok),
    .silent("silence after a 100", .idle, after: "HTTP/1.1 100 Continue\r\n\r\n"),
    .silent("silence before the body", .idle, hasHead: true, after: ok + "Content-Length: 5\r\n\r\n"),
    .silent("silence within the body", .idle, hasHead: true, after: ok + "Content-Length: 5\r\n\r\nhell"),
    .silent("silence within a chunk", .idle, hasHead: true, after: chunked + "5\r\nhe"),
    .silent("silence before the last chunk", .idle, hasHead: true, after: chunked + "5\r\nhello\r\n"),
    .silent(
      "silence within a body that ends with the connection", .idle, hasHead: true, after: ok + "\r\nhel"),
  ]
}
