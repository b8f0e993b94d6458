package import FixtureServer
internal import Synchronization

/// An origin that answers every request with the reply set last, or closes the connection if that is `nil`.
package final class OneReplyOrigin: Sendable {
  private struct HungUp: Error {}
  private final class Current: Sendable {
    let reply = Mutex<FixtureReply?>(nil)
  }

  package let server: FixtureServer
  private let current: Current

  package init() throws {
    let current = Current()
    self.current = current
    server = try FixtureServer { _, connection in
      guard let reply = current.reply.withLock({ $0 }) else { throw HungUp() }
      try connection.send(reply)
    }
  }

  /// Sets the reply to all further requests.
  package func answer(_ reply: FixtureReply?) { current.reply.withLock { $0 = reply } }
}
