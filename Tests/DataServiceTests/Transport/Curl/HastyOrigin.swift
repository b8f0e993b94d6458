import FixtureServer
import Foundation
import Synchronization

/// An origin on loopback that answers each request as soon as it has its head. What follows the head, such as a body, is
/// overlooked.
final class HastyOrigin: Sendable {
  private final class Log: Sendable {
    let heads = Mutex<[String]>([])
  }

  let port: UInt16
  private let listener: Int32
  private let received = Log()

  /// - Parameter answer: The answer to the request of that number, the first of which is 1, as it goes out.
  init(_ answer: @escaping @Sendable (_ number: Int) -> String) throws {
    listener = try Socket.bound(port: 0)
    port = Socket.port(of: listener)
    try Socket.listen(listener)
    // The thread has a descriptor of its own. The number of one that is closed under it may be another test's
    // listener next, whose clients it would take.
    let (listener, log) = (dup(self.listener), self.received)
    Thread.detachNewThread {
      while case let client = accept(listener, nil, nil), client >= 0 {
        Thread.detachNewThread {
          Self.serve(client, log, answer)
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

  /// The heads of the requests so far, without their last line ends.
  var heads: [String] { received.heads.withLock { $0 } }

  private static func serve(_ client: Int32, _ log: Log, _ answer: (Int) -> String) {
    var unread = Data()
    var bytes = [UInt8](repeating: 0, count: 4_096)
    while case let count = recv(client, &bytes, bytes.count, 0), count > 0 {
      unread.append(contentsOf: bytes[..<count])
      guard let end = unread.range(of: Data("\r\n\r\n".utf8)) else { continue }
      let head = String(decoding: unread[..<end.lowerBound], as: UTF8.self)
      unread = Data()
      let number = log.heads.withLock { heads in
        heads.append(head)
        return heads.count
      }
      let text = answer(number)
      _ = text.withCString { send(client, $0, text.utf8.count, Int32(MSG_NOSIGNAL)) }
    }
  }
}
