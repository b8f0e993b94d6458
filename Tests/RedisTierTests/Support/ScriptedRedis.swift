import FixtureServer
import PlatformC
import Synchronization
import TestSupport

@testable import RedisTier

/// A server on a unix socket that does with each connection what a test says, on a thread of its own.
final class ScriptedRedis: Sendable {
  /// One connection to it. Used by its handler alone.
  final class Connection: @unchecked Sendable {
    private let descriptor: Int32
    private var reader = RESPReader()
    /// The bytes of the first read.
    private(set) var firstPiece: [UInt8] = []

    fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// The next command; `nil` when the client has gone.
    func command() -> [String]? { words()?.map { String(decoding: $0, as: UTF8.self) } }

    /// The same as it came, since a value is no text.
    func words() -> [[UInt8]]? {
      var room = [UInt8](repeating: 0, count: 65_536)
      while true {
        if let words = try? reader.next()?.elements {
          return words.map { $0.bytes ?? [] }
        }
        let count = recv(descriptor, &room, room.count, 0)
        guard count > 0 else { return nil }
        if firstPiece.isEmpty { firstPiece = Array(room[..<count]) }
        reader.append(Array(room[..<count]))
      }
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes {
          PlatformC.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }

    /// Returns when the client has gone.
    func waitForEnd() { while command() != nil {} }
  }

  typealias Handler = @Sendable (Connection) -> Void

  let socket: String
  private let folder: TemporaryFolder
  private let descriptor: Int32
  private let connections = Mutex(0)
  private struct Failed: Error {}

  init(_ handler: @escaping Handler) throws {
    folder = try TemporaryFolder()
    socket = folder.file("scripted.socket")
    descriptor = PlatformC.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { [socket] in $0.copyBytes(from: socket.utf8) }
    let isBound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard isBound, listen(descriptor, 256) == 0 else { throw Failed() }
    BackgroundThread.start { [descriptor, weak self] in
      while case let accepted = accept(descriptor, nil, nil), accepted >= 0 {
        self?.connections.withLock { $0 += 1 }
        BackgroundThread.start {
          handler(Connection(accepted))
          PlatformC.close(accepted)
        }
      }
      // Here alone: closed elsewhere, the number could be another listener's by the next look at it, and
      // this thread would take that one's connections.
      PlatformC.close(descriptor)
    }
  }

  /// Ends the thread that accepts.
  deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// How many connections there were.
  var count: Int { connections.withLock { $0 } }

  /// A server that answers what a tier asks, with each reply made by a test; `nil` makes it hang up.
  static func answering(
    _ reply: @escaping @Sendable (_ command: [String], _ number: Int) -> String?
  ) throws -> ScriptedRedis {
    try ScriptedRedis { connection in
      var number = 0
      while let command = connection.command() {
        guard let text = reply(command, number) else { return }
        connection.send(text)
        number += 1
      }
    }
  }

  /// The time that a server tells: the machines' own.
  static var seconds: Int { time(nil) }

  /// A plain answer: a time, no removal and no row.
  static func plain(_ command: [String], at seconds: Int = ScriptedRedis.seconds) -> String {
    switch command.first {
    case "HELLO": "+OK\r\n"
    case "TIME": "*2\r\n$10\r\n\(seconds)\r\n$1\r\n0\r\n"
    case "GET": "_\r\n"
    case "HMGET": "*4\r\n_\r\n_\r\n_\r\n_\r\n"
    default: "-ERR unknown command\r\n"
    }
  }
}

extension RESPValue {
  /// The bytes of a reply.
  var wire: [UInt8] {
    switch self {
    case .string(let bytes): Array("$\(bytes.count)\r\n".utf8) + bytes + [0x0D, 0x0A]
    case .integer(let number): Array(":\(number)\r\n".utf8)
    case .error(let text): Array("-\(text)\r\n".utf8)
    case .null: Array("_\r\n".utf8)
    case .array(let elements), .push(let elements):
      elements.reduce(into: Array("*\(elements.count)\r\n".utf8)) { $0 += $1.wire }
    }
  }
}

/// A key file and the URL of a scripted server.
final class ScriptedFleet: Sendable {
  let server: ScriptedRedis
  let folder: TemporaryFolder

  init(_ server: ScriptedRedis) throws {
    self.server = server
    folder = try TemporaryFolder()
    for (name, text) in [("fleet.key", FleetKey.generate()), ("password", "a password")] {
      try folder.write(text + "\n", to: name)
      chmod(folder.file(name), 0o600)
    }
  }

  func url(user: String = "", patience: String = "60s", _ more: String = "") -> String {
    "redis+unix://\(user)\(server.socket)?key-file=\(folder.file("fleet.key"))&patience=\(patience)\(more)"
  }
}
