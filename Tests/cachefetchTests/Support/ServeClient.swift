import DataService
import PlatformC
import PlatformFoundation
import Synchronization
import TestSupport

@testable import cachefetch

/// A client of `serve`: a Unix socket, and the lines that have come.
final class ServeClient: Sendable {
  private struct State {
    var socket: Int32
    var bytes: [UInt8] = []
    var isAtEnd = false
  }

  private let state: Mutex<State>

  /// Connects; `nil` where nobody listens.
  init?(_ path: String, _ text: String = "") {
    let socket = PlatformC.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    state = Mutex(State(socket: socket))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else { return nil }
    _ = fcntl(socket, F_SETFL, O_NONBLOCK)
    send(text)
  }

  deinit { close() }

  /// A client of a shell's `serve`, once that listens.
  static func of(_ shell: Shell, _ text: String = "") async throws -> ServeClient {
    var client: ServeClient?
    _ = await eventually {
      client = ServeClient(shell.store.path + ".serve", text)
      return client != nil
    }
    guard let client else { throw CancellationError() }
    return client
  }

  /// Sends a text; as much as there is room for. Returns how many bytes that was; -1 where nobody is there.
  @discardableResult func send(_ text: String) -> Int {
    let bytes = Array(text.utf8)
    return state.withLock { PlatformC.send($0.socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
  }

  /// Sends nothing more, and goes on reading.
  func endSending() { _ = state.withLock { shutdown($0.socket, Int32(SHUT_WR)) } }

  func close() {
    state.withLock { state in
      if state.socket >= 0 { _ = PlatformC.close(state.socket) }
      state.socket = -1
    }
  }

  /// Whether something has come that is not read yet.
  var hasMore: Bool {
    var polled = pollfd(fd: state.withLock { $0.socket }, events: Int16(POLLIN), revents: 0)
    return poll(&polled, 1, 0) > 0
  }

  /// Whether the other end has closed; reads what has come.
  var isAtEnd: Bool {
    state.withLock { state in
      var buffer = [UInt8](repeating: 0, count: 64 << 10)
      while !state.isAtEnd {
        let count = recv(state.socket, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN { break }
        if count <= 0 { state.isAtEnd = true } else { state.bytes += buffer[..<count] }
      }
      return state.isAtEnd
    }
  }

  /// The lines so far.
  var lines: [String] {
    _ = isAtEnd
    return state.withLock { $0.bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) } }
  }

  /// All lines, once the other end has closed.
  func answer() async -> [String] {
    _ = await eventually { isAtEnd }
    return lines
  }
}

extension String {
  /// A member of a line of JSON, as text.
  func member(_ name: String) -> String? {
    guard case .object(let members)? = JSONReader.read(Data(utf8)).value else { return nil }
    switch members[name] {
    case .boolean(let value)?: return "\(value)"
    case .object?: return "{}"
    case let value: return value?.text
    }
  }
}
