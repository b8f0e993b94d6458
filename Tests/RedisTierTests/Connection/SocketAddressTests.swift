import PlatformC
import Testing
import TestTurns

@testable import RedisTier

@Suite("Addresses that nobody has to look up", .inTurn) struct SocketAddressTests {
  @Test func `an address written out is known, and so is the name of this machine`() {
    let cases: [(host: String, port: Int, families: [Int32])] = [
      ("127.0.0.1", 80, [AF_INET]), ("::1", 80, [AF_INET6]), ("localhost", 80, [AF_INET6, AF_INET]),
      ("LocalHost", 80, [AF_INET6, AF_INET]), ("a.test", 80, []), ("localhost.test", 80, []), ("", 80, []),
      ("127.0.0.1", 0, [AF_INET]), ("127.0.0.1", 65_535, [AF_INET]), ("127.0.0.1", 65_536, []),
      ("127.0.0.1", -1, []), ("127.0.0", 80, []), ("::g", 80, []),
    ]
    for (host, port, families) in cases {
      let known = SocketAddress.known(RawEndpoint(host: host, port: port))
      #expect(known.map(\.family) == families, "\(host) \(port)")
    }
  }

  @Test func `a socket's path is known where it and its end fit into an address`() {
    let room = MemoryLayout.size(ofValue: sockaddr_un().sun_path)
    for (length, count) in [(1, 1), (room - 1, 1), (room, 0), (room + 1, 0)] {
      // The path counts, whatever the host is.
      let path = String(repeating: "a", count: length)
      let known = SocketAddress.known(RawEndpoint(host: "127.0.0.1", port: 1, unixSocket: path))
      #expect(known.map(\.family) == [Int32](repeating: AF_UNIX, count: count), "\(length)")
    }
  }

  @Test func `libcurl connects where there is TLS or a name to look up`() {
    #expect(PlainSocket(RawEndpoint(host: "127.0.0.1", port: 1)) != nil)
    #expect(PlainSocket(RawEndpoint(host: "a.test", port: 1)) == nil)
    var secure = RawEndpoint(host: "127.0.0.1", port: 1)
    secure.isSecure = true
    #expect(PlainSocket(secure) == nil)
  }
}
