internal import Foundation
internal import Synchronization

/// A listening socket that accepts connections and never says anything.
package final class SilentListener: Sendable {
  package let port: UInt16
  private let descriptor: Int32
  private let accepted = Mutex<[Int32]>([])

  package init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 && listen(descriptor, 8) == 0
          && getsockname(descriptor, $0, &size) == 0
      }
    }
    guard isBound else { throw CocoaError(.featureUnsupported) }
    self.descriptor = descriptor
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit {
    for connection in accepted.withLock({ $0 }) { close(connection) }
    shutdown(descriptor, Int32(SHUT_RDWR))  // no `accept` waits or succeeds any more
    close(descriptor)
  }

  /// Accepts every client from now on, and closes the connection once it has said something and got `answer`.
  package func hangUpOnEveryone(after answer: String = "") {
    // The thread has a descriptor of its own. The number of one that is closed under it may be another test's
    // listener next, whose clients it would take.
    let listener = dup(descriptor)
    Thread.detachNewThread {
      while case let connection = accept(listener, nil, nil), connection >= 0 {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        _ = recv(connection, &bytes, bytes.count, 0)
        _ = answer.withCString { send(connection, $0, answer.utf8.count, Int32(MSG_NOSIGNAL)) }
        close(connection)
      }
      close(listener)
    }
  }

  /// Returns when a client has connected and sent something.
  package func waitForConnection() async {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { [self] in
        let connection = accept(descriptor, nil, nil)
        var byte: UInt8 = 0
        _ = recv(connection, &byte, 1, Int32(MSG_PEEK))
        accepted.withLock { $0.append(connection) }
        continuation.resume()
      }
    }
  }
}
