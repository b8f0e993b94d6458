import PlatformC
import PlatformFoundation
import Testing

@testable import RedisTier

/// Speaks to the server of a test as its administrator, blocking, on a connection of its own.
final class RedisClient {
  private struct Failed: Error {}
  private let descriptor: Int32
  private var reader = RESPReader()

  init(socket path: String) throws {
    descriptor = PlatformC.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let failed = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) != 0
      }
    }
    guard !failed else { throw Failed() }
  }

  deinit { close(descriptor) }

  /// Runs a command.
  @discardableResult func run(_ words: String...) throws -> RESPValue {
    try run(words.map { Array($0.utf8) })
  }

  /// Runs a command.
  @discardableResult func run(_ words: [[UInt8]]) throws -> RESPValue {
    var writer = RESPWriter()
    writer.write(words)
    var rest = writer.bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { throw Failed() }
      rest = rest.dropFirst(count)
    }
    var room = [UInt8](repeating: 0, count: 65_536)
    while true {
      if let reply = try reader.next() { return reply }
      let count = recv(descriptor, &room, room.count, 0)
      guard count > 0 else { throw Failed() }
      reader.append(Array(room[..<count]))
    }
  }

  /// The names of all keys.
  func keys() throws -> [String] {
    try (run("KEYS", "*").elements ?? []).compactMap { $0.bytes.map { String(decoding: $0, as: UTF8.self) } }
      .sorted()
  }

  /// The fields and values of a hash.
  func hash(_ key: String) throws -> [String: [UInt8]] {
    let elements = try run("HGETALL", key).elements ?? []
    var fields: [String: [UInt8]] = [:]
    for index in stride(from: 0, to: elements.count - 1, by: 2) {
      fields[String(decoding: elements[index].bytes ?? [], as: UTF8.self)] = elements[index + 1].bytes
    }
    return fields
  }

  /// The bytes of everything in the server: names, fields and values, as they are.
  func everything() throws -> [UInt8] {
    var all: [UInt8] = []
    for key in try keys() {
      all += Array(key.utf8)
      if let value = try run("GET", key).bytes { all += value }
      for (field, value) in try hash(key) { all += Array(field.utf8) + value }
      all += try run("DUMP", key).bytes ?? []
    }
    return all
  }
}
