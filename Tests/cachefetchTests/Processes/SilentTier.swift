import FixtureServer
import PlatformC
import Synchronization

/// A port that takes every connection and never says anything.
final class SilentTier: Sendable {
  /// Where it listens, on loopback.
  let port: UInt16
  /// Open from the first connection on.
  let hasConnection = Gate()
  private let listener: Int32
  private let connections = Mutex<[Int32]>([])

  init() throws {
    let listener = try Socket.bound(port: 0)
    try Socket.listen(listener)
    (self.listener, port) = (listener, Socket.port(of: listener))
    BackgroundThread.start { [weak self] in
      while case let accepted = accept(listener, nil, nil), accepted >= 0 {
        guard let self else {
          close(accepted)
          return
        }
        connections.withLock { $0.append(accepted) }
        hasConnection.open()
      }
    }
  }

  deinit {
    // Ends the thread that accepts.
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
    for connection in connections.withLock({ $0 }) { close(connection) }
  }

  /// How many connections there were.
  var count: Int { connections.withLock(\.count) }

  /// Ends every connection, and those to come are still taken.
  func hangUp() {
    for connection in connections.withLock({ $0 }) { shutdown(connection, Int32(SHUT_RDWR)) }
  }
}
