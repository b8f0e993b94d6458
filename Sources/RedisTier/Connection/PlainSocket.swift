internal import CCurl
internal import DataService
internal import PlatformC

/// A socket of our own: a unix socket, or TCP to an address that nobody has to look up. A process that
/// needs nothing else does not load libcurl, and reads and writes do not go through it.
final class PlainSocket: RawCarrier {
  private let endpoint: RawEndpoint
  /// The addresses not tried yet.
  private var addresses: ArraySlice<SocketAddress>
  private var isUnderWay = false
  private(set) var descriptor: Int32 = -1

  /// - Returns: `nil` where libcurl has to make the connection.
  init?(_ endpoint: RawEndpoint) {
    let addresses = SocketAddress.known(endpoint)
    guard !endpoint.isSecure, !addresses.isEmpty else { return nil }
    self.endpoint = endpoint
    self.addresses = addresses[...]
  }

  deinit { drop() }

  var mayHoldBytes: Bool { false }

  func connect() -> Result<Void, DataServiceError>? {
    var number: Int32 = ECONNREFUSED
    while isUnderWay || !addresses.isEmpty {
      number = isUnderWay ? outcome() : begin(addresses[addresses.startIndex])
      switch number {
      case 0: return .success(())
      case EINPROGRESS where isUnderWay: return nil
      case EINPROGRESS: isUnderWay = true
      // The unix socket's backlog is full.
      case EAGAIN:
        drop()
        return nil
      default:
        drop()
        addresses.removeFirst()
      }
    }
    return .failure(error(number))
  }

  func appendDescriptors(to descriptors: inout [curl_waitfd]) -> Int32 {
    guard isUnderWay else { return 1 }
    descriptors.append(curl_waitfd(fd: descriptor, events: Int16(CURL_WAIT_POLLOUT), revents: 0))
    return .max
  }

  func send(_ block: [UInt8], from offset: Int) -> RawProgress {
    block.withUnsafeBytes { bytes in
      let rest = UnsafeRawBufferPointer(rebasing: bytes[offset...])
      return progress(PlatformC.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL)))
    }
  }

  func receive(into room: UnsafeMutableRawBufferPointer) -> RawProgress {
    progress(recv(descriptor, room.baseAddress, room.count, 0))
  }

  private func progress(_ count: Int) -> RawProgress {
    let number = errno
    if count > 0 { return .some(count) }
    return count < 0 && (number == EAGAIN || number == EINTR) ? .later : .ended
  }

  /// Begins to connect to an address.
  /// - Returns: 0, or the number of an error.
  private func begin(_ address: SocketAddress) -> Int32 {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    descriptor = socket(address.family, type, 0)
    guard descriptor >= 0 else { return errno }
    if address.family != AF_UNIX {
      // Without this, Nagle's algorithm would hold a question back until the previous one is acknowledged.
      var one: Int32 = 1
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }
    return address.connect(descriptor)
  }

  /// The result of connecting; `EINPROGRESS` while there is none.
  private func outcome() -> Int32 {
    var waited = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    guard poll(&waited, 1, 0) > 0 else { return EINPROGRESS }
    var number: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &length) == 0 else { return errno }
    return number
  }

  private func drop() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
    isUnderWay = false
  }

  private func error(_ number: Int32) -> DataServiceError {
    .unconnected(number, host: endpoint.host, port: endpoint.port, unixSocket: endpoint.unixSocket)
  }
}
