import FixtureServer
import PlatformC
import Synchronization

/// An origin for one request, of which it reads as much as a test says, when the test says so.
final class SlowReader: Sendable {
  /// More bytes than the kernel and a transport hold of what is sent and not read: to read as many, the client
  /// has to send some of them meanwhile.
  static let step = 16 << 20

  let port: UInt16
  private let listener: Int32
  private let client = Mutex<Int32>(-1)

  init() throws {
    listener = try Socket.bound(port: 0)
    // Stated, so that the kernel does not let it grow; the sender's own buffer grows to 4 MiB.
    var size: Int32 = 256 << 10
    setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    try Socket.listen(listener)
    port = Socket.port(of: listener)
  }

  deinit {
    let client = client.withLock { $0 }
    if client >= 0 { close(client) }
    close(listener)
  }

  /// Returns when a client has connected and sent the head of its request.
  func readHead() async {
    await whenDone { [self] in
      let accepted = accept(listener, nil, nil)
      client.withLock { $0 = accepted }
      var head: [UInt8] = []
      while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
        let byte = take(1)
        if byte.isEmpty { return }
        head += byte
      }
    }
  }

  /// Returns when that many bytes more have come, or the client has closed.
  func read(_ count: Int) async {
    await whenDone { [self] in
      var rest = count
      while rest > 0 {
        let bytes = take(min(rest, 65_536))
        if bytes.isEmpty { return }
        rest -= bytes.count
      }
    }
  }

  /// Sends a short text.
  func answer(_ text: String) {
    let client = client.withLock { $0 }
    _ = text.withCString { sendQuietly(client, $0, text.utf8.count) }
  }

  private func take(_ count: Int) -> [UInt8] {
    let client = client.withLock { $0 }
    var bytes = [UInt8](repeating: 0, count: count)
    let taken = recv(client, &bytes, count, 0)
    return Array(bytes.prefix(max(0, taken)))
  }

  private func whenDone(_ work: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      BackgroundThread.start {
        work()
        continuation.resume()
      }
    }
  }
}
