internal import CCurl
internal import DataService
internal import PlatformFoundation

/// A connection of bytes, over TCP, TLS or a unix socket, without HTTP. Where there is TLS, or a name to look up,
/// libcurl connects, verifies and encrypts; otherwise it is a plain socket.
///
/// The tier's thread waits for it. Every function and `onEvent` are called on that thread, which justifies `@unchecked Sendable`; `onEvent` is never called from within a call to this object. It has no time limit
/// of its own: its user sets a timer and closes it. Closing, or ending the thread, ends it at once.
final class RawConnection: WaitingConnection, @unchecked Sendable {
  /// What becomes of a connection.
  enum Event {
    /// It is connected, and secured where that was asked for.
    case opened
    /// Bytes came, which are valid during the call.
    case received(UnsafeRawBufferPointer)
    /// It could not be made, or has ended. The last event.
    case ended(DataServiceError)
  }

  private enum Phase { case new, connecting, open, ended }

  /// The most bytes that one turn reads from one connection before others get theirs.
  private static let turnLimit = 1 << 20
  private static let roomSize = 64 << 10

  private let endpoint: RawEndpoint
  private let thread: NetworkThread
  private let engine: RawEngine
  private let onEvent: (Event) -> Void
  private var carrier: (any RawCarrier)?
  private var phase = Phase.new
  /// Its place among the descriptors of the last wait; `nil` where it was not one of them.
  private var place: Int?
  /// Whether there may be something to receive.
  private var isReadable = false
  /// The failure to report at the next turn.
  private var failure: DataServiceError?
  /// What is still to be sent; blocks are never changed, since TLS wants the same bytes at the same place again.
  private var blocks: [[UInt8]] = []
  private var sent = 0
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: roomSize, alignment: 16)

  /// Makes a connection; nothing happens before ``open()``.
  init(
    to endpoint: RawEndpoint, by engine: RawEngine, on thread: NetworkThread,
    onEvent: @escaping (Event) -> Void
  ) {
    self.endpoint = endpoint
    self.engine = engine
    self.thread = thread
    self.onEvent = onEvent
  }

  deinit { room.deallocate() }

  /// Whether it is connected.
  var isOpen: Bool { phase == .open }

  /// Begins to connect.
  func open() {
    guard phase == .new else { return }
    phase = .connecting
    do throws(DataServiceError) {
      try engine.adopt(self, on: thread)
      carrier = try makeCarrier()
    } catch {
      failure = error
      // A thread whose engine was closed gives it no turn.
      thread.perform { [self] in advance() }
    }
    engine.requestTurn()
  }

  private func makeCarrier() throws(DataServiceError) -> any RawCarrier {
    if let socket = PlainSocket(endpoint) { return socket }
    return try RawHandle(endpoint, library: engine.loadedLibrary())
  }

  /// Sends bytes, those written while it connects once it is open. Never waits; what the system does not take at once
  /// goes out as it becomes able to.
  func write(_ bytes: [UInt8]) {
    guard phase == .connecting || phase == .open, !bytes.isEmpty else { return }
    blocks.append(bytes)
    if phase == .open { flush() }
  }

  /// Closes it; no event comes any more.
  func close() {
    guard phase != .ended else { return }
    phase = .ended
    carrier = nil
    blocks = []
    engine.drop(self)
  }

  // MARK: The engine's part

  func await(in descriptors: inout [curl_waitfd]) -> Int32 {
    place = nil
    guard let carrier, failure == nil else { return failure == nil ? .max : 0 }
    guard phase != .connecting else { return carrier.appendDescriptors(to: &descriptors) }
    let events = CURL_WAIT_POLLIN | (blocks.isEmpty ? 0 : CURL_WAIT_POLLOUT)
    place = descriptors.count
    descriptors.append(curl_waitfd(fd: carrier.descriptor, events: Int16(events), revents: 0))
    return .max
  }

  func note(_ descriptors: [curl_waitfd]) {
    if place.map({ descriptors[$0].revents != 0 }) ?? false { isReadable = true }
  }

  func advance() {
    if failure == nil, phase == .connecting { connect() }
    if failure == nil, phase == .open, !blocks.isEmpty { flush() }
    if failure == nil, phase == .open, isReadable { receive() }
    if let failure { end(failure) }
  }

  func end(_ error: DataServiceError) {
    guard phase != .ended else { return }
    close()
    onEvent(.ended(error))
  }

  private func connect() {
    guard let carrier, let result = carrier.connect() else { return }
    if case .failure(let error) = result {
      failure = error
      return
    }
    phase = .open
    isReadable = carrier.mayHoldBytes
    onEvent(.opened)
    flush()
  }

  private func flush() {
    guard let carrier else { return }
    while let block = blocks.first {
      switch carrier.send(block, from: sent) {
      case .some(let count): sent += count
      case .later: return
      case .ended:
        failure = disconnected
        return engine.requestTurn()
      }
      guard sent == block.count else { continue }
      blocks.removeFirst()
      sent = 0
    }
  }

  private func receive() {
    var total = 0
    while phase == .open, let carrier {
      guard total < Self.turnLimit else { return engine.requestTurn() }
      switch carrier.receive(into: room) {
      case .some(let count):
        total += count
        // The system gives all it has, so that less than there is room for is the last; TLS may hold more.
        isReadable = count == room.count || carrier.mayHoldBytes
        onEvent(.received(UnsafeRawBufferPointer(rebasing: room[..<count])))
        if !isReadable { return }
      case .later:
        isReadable = false
        return
      case .ended:
        failure = disconnected
        return
      }
    }
  }

  private var disconnected: DataServiceError {
    DataServiceError(.disconnected, "\(endpoint.name) closed the connection")
  }
}
