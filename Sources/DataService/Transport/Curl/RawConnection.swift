#if os(Linux) && !PORTABLE
  internal import CCurl
  internal import CacheStore
  import PlatformFoundation

  /// A connection of bytes, over TCP, TLS or a unix socket, without HTTP: libcurl connects, verifies and encrypts.
  ///
  /// Its transport's network thread waits for it. Every function and `onEvent` are called on that thread, which justifies
  /// `@unchecked Sendable`; `onEvent` is never called from within a call to this object. It has no time limit of its own:
  /// its user sets a timer and closes it. Closing, or ending the thread, ends it at once.
  package final class RawConnection: @unchecked Sendable {
    /// Where a connection leads, and how it is secured.
    package struct Endpoint: Sendable, Hashable {
      /// The host's name or address; the certificate has to be its.
      package var host: String
      /// The port.
      package var port: Int
      /// The path of a unix socket that is connected to in place of the host.
      package var unixSocket: String?
      /// Whether the connection is encrypted, and the peer's certificate verified.
      package var isSecure = false
      /// A file of certificate authorities in place of the system's.
      package var certificateAuthorityFile: String?
      /// The client's certificate.
      package var clientCertificateFile: String?
      /// The client's key.
      package var clientKeyFile: String?

      /// Makes an endpoint without TLS.
      package init(host: String, port: Int, unixSocket: String? = nil) {
        (self.host, self.port, self.unixSocket) = (host, port, unixSocket)
      }
    }

    /// What becomes of a connection.
    package enum Event {
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
    /// The most that is handed to TLS at once: one record, which has to be offered again as it was until it is taken.
    private static let recordSize = 16 << 10

    private let endpoint: Endpoint
    private let transport: CurlTransport
    private let onEvent: (Event) -> Void
    private var handle: RawHandle?
    private var phase = Phase.new
    /// What is told at the next turn.
    private var failure: DataServiceError?
    /// What is still to be sent; blocks are never changed, since TLS wants the same bytes at the same place again.
    private var blocks: [[UInt8]] = []
    private var sent = 0
    private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: roomSize, alignment: 16)

    /// Makes a connection; nothing happens before ``open()``.
    package init(
      to endpoint: Endpoint, over transport: CurlTransport, onEvent: @escaping (Event) -> Void
    ) {
      self.endpoint = endpoint
      self.transport = transport
      self.onEvent = onEvent
    }

    deinit { room.deallocate() }

    /// Whether it is connected.
    package var isOpen: Bool { phase == .open }

    /// Begins to connect.
    package func open() {
      guard phase == .new else { return }
      phase = .connecting
      transport.isUsed()
      do throws(DataServiceError) {
        handle = try RawHandle(endpoint, library: try transport.engine.adopt(self, on: transport.thread))
      } catch {
        failure = error
        // Without libcurl the thread has no engine to give it a turn.
        transport.thread.perform { [self] in advance() }
      }
      transport.engine.isAwaited()
    }

    /// Sends bytes, those written while it connects once it is open. Never waits; what the system does not take at once
    /// goes out as it becomes able to.
    package func write(_ bytes: [UInt8]) {
      guard phase == .connecting || phase == .open, !bytes.isEmpty else { return }
      blocks.append(bytes)
      if phase == .open { flush() }
    }

    /// Closes it; no event comes any more.
    package func close() {
      guard phase != .ended else { return }
      phase = .ended
      handle = nil
      blocks = []
      transport.engine.drop(self)
    }

    // MARK: The engine's part

    /// Adds the descriptors it waits for.
    /// - Returns: The longest wait, in milliseconds, after which it wants a turn though none was ready.
    func await(in descriptors: inout [curl_waitfd]) -> Int32 {
      guard let handle, failure == nil else { return failure == nil ? .max : 0 }
      guard phase == .connecting else {
        let events = CURL_WAIT_POLLIN | (blocks.isEmpty ? 0 : CURL_WAIT_POLLOUT)
        descriptors.append(curl_waitfd(fd: handle.descriptor, events: Int16(events), revents: 0))
        return .max
      }
      // libcurl has timers of its own while it connects, such as for the second address of a host.
      return handle.appendDescriptors(to: &descriptors) ? 10 : 1
    }

    /// Goes on as far as possible without waiting.
    func advance() {
      if failure == nil, phase == .connecting { connect() }
      if failure == nil, phase == .open, !blocks.isEmpty { flush() }
      if failure == nil, phase == .open { receive() }
      if let failure { end(failure) }
    }

    /// Closes the connection and reports `ended`.
    func end(_ error: DataServiceError) {
      guard phase != .ended else { return }
      close()
      onEvent(.ended(error))
    }

    private func connect() {
      guard let handle, let code = handle.connect() else { return }
      guard code == CURLE_OK, handle.descriptor >= 0 else {
        failure = handle.error(code, endpoint)
        return
      }
      phase = .open
      onEvent(.opened)
      flush()
    }

    private func flush() {
      guard let handle else { return }
      while let block = blocks.first {
        let limit = endpoint.isSecure ? Self.recordSize : block.count
        let (code, count) = handle.send(block, from: sent, atMost: limit)
        if code == CURLE_AGAIN { return }
        guard code == CURLE_OK else {
          failure = disconnected
          transport.engine.isAwaited()
          return
        }
        sent += count
        guard sent == block.count else { continue }
        blocks.removeFirst()
        sent = 0
      }
    }

    private func receive() {
      var total = 0
      // TLS may hold bytes for which the descriptor is no longer readable, so it is read until it has no more.
      while phase == .open, let handle {
        guard total < Self.turnLimit else { return transport.engine.isAwaited() }
        let (code, count) = handle.receive(into: room)
        if code == CURLE_AGAIN { return }
        guard code == CURLE_OK, count > 0 else {
          failure = disconnected
          return
        }
        total += count
        onEvent(.received(UnsafeRawBufferPointer(rebasing: room[..<count])))
      }
    }

    private var disconnected: DataServiceError {
      DataServiceError(.disconnected, "\(endpoint.name) closed the connection")
    }
  }

  extension RawConnection.Endpoint {
    /// The host and port, or the socket's path, for a person.
    package var name: String { unixSocket ?? "\(host):\(port)" }
  }
#endif
