import PlatformC
import Synchronization

/// One client connection for a handler: sends replies and raw bytes, and breaks off in every way.
///
/// Calls block and must come from the connection's own thread; only `close` may be called from any thread.
public final class FixtureConnection: Sendable {
  private struct State {
    var fd: Int32
    var isClosed = false
    var closesAfterReply = false
    var method = "GET"
  }

  /// Which of the server's connections this is; the first is 1.
  public let number: Int
  private let state: Mutex<State>

  init(fd: Int32, number: Int) {
    self.number = number
    state = Mutex(State(fd: fd))
  }

  deinit { release() }

  /// Sends a reply, head and body in one write; without a body if the request was a HEAD.
  public func send(_ reply: FixtureReply) throws {
    if !reply.keepAlive { state.withLock { $0.closesAfterReply = true } }
    try sendRaw(reply.bytes(answering: state.withLock(\.method)))
  }

  /// Sends only the status line and fields of a reply. The handler sends the body. The reply's `Content-Length` or
  /// `chunkSize` decides the framing.
  public func sendHead(_ reply: FixtureReply) throws {
    if !reply.keepAlive { state.withLock { $0.closesAfterReply = true } }
    try sendRaw(reply.headBytes)
  }

  /// Sends one chunk of a chunked body; an empty one ends it.
  public func sendChunk(_ bytes: some Sequence<UInt8>) throws {
    let bytes = Array(bytes)
    try sendRaw(bytes.isEmpty ? Array("0\r\n\r\n".utf8) : FixtureReply.chunk(bytes[...]))
  }

  /// Sends one chunk of text.
  public func sendChunk(_ text: String) throws { try sendChunk(Array(text.utf8)) }

  /// Sends bytes unchanged, for malformed replies.
  public func sendRaw(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try Socket.writeAll(try descriptor(), $0) }
  }

  /// Sends text unchanged.
  public func sendRaw(_ text: String) throws { try sendRaw(Array(text.utf8)) }

  /// Closes the connection in order. The descriptor stays open until the connection's thread releases it.
  public func close() {
    state.withLock { state in
      state.isClosed = true
      if state.fd >= 0 { shutdown(state.fd, Int32(SHUT_RDWR)) }
    }
  }

  /// Breaks the connection off: the client's next read fails with "connection reset".
  public func reset() {
    let fd = takeDescriptor()
    guard fd >= 0 else { return }
    var abrupt = linger(l_onoff: 1, l_linger: 0)
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &abrupt, socklen_t(MemoryLayout<linger>.size))
    closeDescriptor(fd)
  }

  /// Shuts down the sending side; the client can still send.
  public func shutdownWrite() {
    state.withLock { state in
      if state.fd >= 0 { shutdown(state.fd, Int32(SHUT_WR)) }
    }
  }

  /// Blocks until the client has closed or reset the connection. Bytes it sends meanwhile are discarded.
  public func waitForPeerClose() {
    guard let fd = try? descriptor() else { return }
    while let bytes = try? Socket.read(fd), !bytes.isEmpty {}
  }

  /// Whether a handler, the client's `Connection: close` or the server has ended the connection.
  public var isClosed: Bool { state.withLock { $0.isClosed || $0.fd < 0 } }

  func readMore() throws -> [UInt8] { try Socket.read(try descriptor()) }

  func begin(_ request: FixtureRequest) {
    state.withLock { state in
      state.method = request.method
      if request.asksToClose { state.closesAfterReply = true }
    }
  }

  var isDone: Bool { state.withLock { $0.isClosed || $0.fd < 0 || $0.closesAfterReply } }

  /// Closes the descriptor; called by the connection's thread at its end.
  func release() {
    let fd = takeDescriptor()
    if fd >= 0 { closeDescriptor(fd) }
  }

  private func descriptor() throws -> Int32 {
    let fd = state.withLock { $0.isClosed ? -1 : $0.fd }
    guard fd >= 0 else { throw FixtureSocketError(call: "send", code: EBADF) }
    return fd
  }

  private func takeDescriptor() -> Int32 {
    state.withLock { state in
      defer { state.fd = -1 }
      return state.fd
    }
  }

  private func closeDescriptor(_ fd: Int32) {
    _ = PlatformC.close(fd)
  }
}
