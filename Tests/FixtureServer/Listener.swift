import Dispatch
import PlatformC
import Synchronization

/// Accepts connections: one thread that accepts and one for each connection, all ended by `stop`.
final class Listener: Sendable {
  typealias Serve = @Sendable (FixtureConnection) -> Void

  private struct State {
    var connections: [Int: FixtureConnection] = [:]
    var accepted = 0
    var isStopped = false
  }

  private let fd: Int32
  private let wakeRead: Int32
  private let wakeWrite: Int32
  private let ended = DispatchSemaphore(value: 0)
  private let state = Mutex(State())
  private let firstNumber: Int

  /// Listens on a bound socket, which it then owns.
  init(fd: Int32, firstNumber: Int, serve: @escaping Serve) throws {
    var pipeEnds: [Int32] = [-1, -1]
    guard pipe(&pipeEnds) == 0 else { throw FixtureSocketError(call: "pipe", code: errno) }
    for end in pipeEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    (self.fd, wakeRead, wakeWrite) = (fd, pipeEnds[0], pipeEnds[1])
    self.firstNumber = firstNumber
    do {
      try Socket.listen(fd)
    } catch {
      close(wakeRead)
      close(wakeWrite)
      throw error
    }
    BackgroundThread.start { [self] in
      while let connection = Socket.accept(self.fd, wake: wakeRead) { start(connection, serve) }
      ended.signal()
    }
  }

  /// How many connections were accepted so far, including those of earlier listeners of the same server.
  var accepted: Int { state.withLock { $0.accepted } + firstNumber - 1 }

  /// How many are open now.
  var open: Int { state.withLock { $0.connections.count } }

  /// Ends accepting, closes every connection and frees the listening socket. A handler that waits at a gate continues
  /// when it opens and then finds its connection closed.
  ///
  /// - Parameter beforeClosing: Called when the socket no longer listens but still holds its address.
  func stop(beforeClosing: () -> Void = {}) {
    guard
      !state.withLock({ state in
        defer { state.isStopped = true }
        return state.isStopped
      })
    else { return }
    _ = write(wakeWrite, "x", 1)
    ended.wait()
    shutdown(fd, Int32(SHUT_RDWR))
    beforeClosing()
    close(fd)
    close(wakeRead)
    close(wakeWrite)
    for connection in state.withLock({ Array($0.connections.values) }) { connection.close() }
  }

  private func start(_ descriptor: Int32, _ serve: @escaping Serve) {
    let connection = state.withLock { state in
      state.accepted += 1
      let connection = FixtureConnection(fd: descriptor, number: firstNumber + state.accepted - 1)
      state.connections[connection.number] = connection
      return connection
    }
    BackgroundThread.start { [self] in
      serve(connection)
      connection.release()
      state.withLock { _ = $0.connections.removeValue(forKey: connection.number) }
    }
  }
}
