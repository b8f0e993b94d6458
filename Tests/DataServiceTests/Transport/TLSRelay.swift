import Dispatch
import FixtureServer
import Foundation
import TestSupport

/// A port on loopback whose connections are led to servers behind sockets, so that one URL can be answered by one
/// server after the other, or cut off at any byte of the server's.
final class TLSRelay: Sendable {
  /// What becomes of a connection.
  enum Way: Sendable {
    /// Led to the socket.
    case server(String)
    /// Led there until so many bytes of the server's have passed, then closed or reset.
    case cut(String, after: Int, isReset: Bool = false)
    /// Answered in plain text.
    case plain(String)
  }

  let port: UInt16
  private let listener: Int32
  private let way: Locked<Way>

  init(_ way: Way) throws {
    self.way = Locked(way)
    listener = try Socket.bound(port: 0)
    port = Socket.port(of: listener)
    try Socket.listen(listener)
    // The thread has a descriptor of its own. The number of one that is closed under it may be another test's
    // listener next, whose clients it would take.
    let (listener, current) = (dup(self.listener), self.way)
    Thread.detachNewThread {
      while case let client = accept(listener, nil, nil), client >= 0 {
        let way = current.value
        Thread.detachNewThread {
          Self.serve(client, way)
          close(client)
        }
      }
      close(listener)
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))  // ends the thread that accepts
    close(listener)
  }

  /// Where the next connections go.
  func lead(_ way: Way) { self.way.value = way }

  private static func serve(_ client: Int32, _ way: Way) {
    switch way {
    case .server(let path): carry(client, to: path, atMost: .max)
    case .cut(let path, let count, let isReset):
      carry(client, to: path, atMost: count)
      guard isReset else { return }
      var abrupt = linger(l_onoff: 1, l_linger: 0)
      setsockopt(client, SOL_SOCKET, SO_LINGER, &abrupt, socklen_t(MemoryLayout<linger>.size))
    case .plain(let text):
      var bytes = [UInt8](repeating: 0, count: 4_096)
      _ = recv(client, &bytes, bytes.count, 0)
      sendAll(Array(text.utf8)[...], to: client)
    }
  }

  private static func carry(_ client: Int32, to path: String, atMost limit: Int) {
    guard let server = connected(to: path) else { return }
    defer { close(server) }
    var left = limit
    var ends = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    var bytes = [UInt8](repeating: 0, count: 16_384)
    while poll(&ends, 2, -1) > 0 {
      for (index, end) in ends.enumerated() where end.revents != 0 {
        var count = recv(end.fd, &bytes, bytes.count, 0)
        guard count > 0 else { return }
        if index == 1 { count = min(count, left) }
        if index == 1 { left -= count }
        sendAll(bytes[..<count], to: ends[1 - index].fd)
        // With nothing let through, the client has at least spoken.
        if left == 0 { return }
      }
    }
  }

  private static func connected(to path: String) -> Int32? {
    let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let isConnected = withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(server, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    if isConnected { return server }
    close(server)
    return nil
  }

  private static func sendAll(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) {
    var rest = bytes
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard sent > 0 else { return }
      rest = rest.dropFirst(sent)
    }
  }
}
