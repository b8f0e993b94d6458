import CacheStore
import DataService
import FixtureServer
import Foundation
import PlatformC
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import RedisTier

@Suite("A connection without HTTP", .inTurn) struct RawConnectionTests {
  private enum Told: Sendable, Equatable {
    case opened
    case received([UInt8])
    case ended(DataServiceError.Kind)
  }

  private final class Said: Sendable { let text = Mutex("") }

  /// A socket that is bound, to a port of this machine or to a path.
  private final class Listener: Sendable {
    private let descriptor: Int32
    private let path: String?

    init(_ path: String? = nil) throws {
      self.path = path
      descriptor = try path.map { try Socket.bound(path: $0) } ?? Socket.bound(port: 0)
    }

    deinit { close(descriptor) }

    var port: Int { Int(Socket.port(of: descriptor)) }

    /// Listens, and connects to itself until nobody else can.
    func fill() -> [Client] {
      listen(descriptor, 0)
      var clients: [Client] = []
      while let client = Client(path ?? "") { clients.append(client) }
      return clients
    }

    func accept() { close(PlatformC.accept(descriptor, nil, nil)) }
  }

  /// A connection to a path, which does not wait for its queue.
  private final class Client: Sendable {
    private let descriptor: Int32

    init?(_ path: String) {
      descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let isConnected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
        }
      }
      guard isConnected else { return nil }
    }

    deinit { close(descriptor) }
  }

  /// A connection, and what it tells.
  private final class Line: @unchecked Sendable {
    let thread = NetworkThread()
    let events: AsyncStream<Told>
    private let said: Said
    private let connection: RawConnection

    init(to endpoint: RawEndpoint, library: String? = nil) {
      let engine = library.map { RawEngine(libraryName: $0) } ?? RawEngine()
      let (events, teller) = AsyncStream.makeStream(of: Told.self)
      self.events = events
      let said = Said()
      self.said = said
      connection = RawConnection(to: endpoint, by: engine, on: thread) { event in
        switch event {
        case .opened: teller.yield(.opened)
        case .received(let bytes): teller.yield(.received(Array(bytes)))
        case .ended(let error):
          said.text.withLock { $0 = error.message }
          teller.yield(.ended(error.kind))
          teller.finish()
        }
      }
    }

    deinit { thread.perform { [connection] in connection.close() } }

    /// What the error says with which it ended.
    var message: String { said.text.withLock { $0 } }

    func onThread(_ body: @escaping @Sendable (RawConnection) -> Void) async {
      await withCheckedContinuation { continuation in
        thread.perform { [connection] in
          body(connection)
          continuation.resume()
        }
      }
    }

    /// Opens it and sends a request.
    func ask(_ path: String = "/") async {
      await onThread {
        $0.open()
        $0.write(Array("GET \(path) HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n".utf8))
      }
    }

    /// All that is told until the end.
    func all() async -> (text: String, first: Told?, last: Told?) {
      var told: [Told] = []
      for await event in events { told.append(event) }
      let bytes = told.flatMap { if case .received(let bytes) = $0 { bytes } else { [] as [UInt8] } }
      return (String(decoding: bytes, as: UTF8.self), told.first, told.last)
    }
  }

  @Test func `bytes go out and come back, over TCP and over a unix socket`() async throws {
    let folder = try TemporaryFolder()
    let body = String(repeating: "0123456789", count: 50_000)
    let answer: FixtureServer.Handler = { _, connection in
      try connection.send(FixtureReply(status: 200, body: Array(body.utf8)))
      connection.close()
    }
    let (tcp, unix) = (try FixtureServer(answer), try FixtureServer(unixSocket: folder.file("s"), answer))
    for endpoint in [
      RawEndpoint(host: "127.0.0.1", port: Int(tcp.url("/").port ?? 0)),
      RawEndpoint(host: "", port: 0, unixSocket: folder.file("s")),
    ] {
      let line = Line(to: endpoint)
      await line.ask()
      let (text, first, last) = await line.all()
      #expect(first == .opened, "\(endpoint)")
      #expect(text.hasSuffix(body), "\(endpoint)")
      #expect(last == .ended(.disconnected), "\(endpoint)")
    }
    withExtendedLifetime((tcp, unix)) {}
  }

  @Test func `a connection that cannot be made says why`() async throws {
    let folder = try TemporaryFolder()
    let silent = Line(to: .init(host: "", port: 0, unixSocket: folder.file("nobody")))
    await silent.onThread { $0.open() }
    #expect(await silent.all().last == .ended(.unreachable))
    for (host, isSecure) in [("127.0.0.1", true), ("a-name.test", false)] {
      var endpoint = RawEndpoint(host: host, port: 1)
      endpoint.isSecure = isSecure
      let missing = Line(to: endpoint, library: "libcurl-of-no-system.so")
      await missing.onThread { $0.open() }
      #expect(await missing.all().last == .ended(.libraryMissing))
    }
    let plain = try SilentListener()
    plain.hangUpOnEveryone()
    var endpoint = RawEndpoint(host: "127.0.0.1", port: Int(plain.port))
    endpoint.isSecure = true
    let untrusted = Line(to: endpoint)
    await untrusted.ask()
    guard case .ended(let kind) = await untrusted.all().last else {
      Issue.record("it has not ended")
      return
    }
    #expect(kind.name.hasPrefix("tls("))
    withExtendedLifetime(plain) {}
  }

  @Test func `without TLS and a name to look up no libcurl is needed`() async throws {
    let folder = try TemporaryFolder()
    let answer: FixtureServer.Handler = { _, connection in
      try connection.send(FixtureReply(status: 200, body: Array("hello".utf8)))
      connection.close()
    }
    let (tcp, unix) = (try FixtureServer(answer), try FixtureServer(unixSocket: folder.file("s"), answer))
    let port = Int(tcp.url("/").port ?? 0)
    for endpoint in [
      RawEndpoint(host: "127.0.0.1", port: port),
      // Where nothing listens on ::1, the other address is tried.
      RawEndpoint(host: "LocalHost", port: port),
      RawEndpoint(host: "", port: 0, unixSocket: folder.file("s")),
    ] {
      let line = Line(to: endpoint, library: "libcurl-of-no-system.so")
      await line.ask()
      let (text, first, last) = await line.all()
      #expect(first == .opened, "\(endpoint)")
      #expect(text.hasSuffix("hello"), "\(endpoint)")
      #expect(last == .ended(.disconnected), "\(endpoint)")
    }
    withExtendedLifetime((tcp, unix)) {}
  }

  @Test func `what nobody listens on is refused, with the reason`() async throws {
    let folder = try TemporaryFolder()
    // Bound and not listening.
    let (port, path) = (try Listener(), try Listener(folder.file("s")))
    for (endpoint, message) in [
      (RawEndpoint(host: "127.0.0.1", port: port.port), "127.0.0.1 refused the connection"),
      (.init(host: "localhost", port: port.port), "localhost refused the connection"),
      (
        .init(host: "", port: 0, unixSocket: folder.file("s")),
        "nothing listens on the socket \(folder.file("s"))"
      ),
    ] {
      let line = Line(to: endpoint)
      await line.onThread { $0.open() }
      #expect(await line.all().last == .ended(.refused), "\(message)")
      #expect(line.message == message, "\(message)")
    }
    withExtendedLifetime((port, path)) {}
  }

  @Test func `a unix socket whose queue is full is tried again until there is room`() async throws {
    let folder = try TemporaryFolder()
    let listener = try Listener(folder.file("s"))
    let waiting = listener.fill()
    let line = Line(to: .init(host: "", port: 0, unixSocket: folder.file("s")))
    await line.onThread { $0.open() }
    // By the second turn it has been tried.
    await line.onThread { #expect(!$0.isOpen) }
    await line.onThread { #expect(!$0.isOpen) }
    for _ in 0...waiting.count { listener.accept() }
    var events = line.events.makeAsyncIterator()
    #expect(await events.next() == .opened)
    withExtendedLifetime((listener, waiting)) {}
  }

  @Test func `a thread that ends closes it`() async throws {
    let gate = Gate()
    let origin = try FixtureServer { _, connection in
      Self.wait(gate)
      try connection.send(FixtureReply(status: 200, body: Array("hello".utf8)))
    }
    let line = Line(to: .init(host: "127.0.0.1", port: Int(origin.url("/").port ?? 0)))
    await line.ask()
    await origin.waitForRequests(1)
    await line.thread.stop()
    #expect(await line.all().last == .ended(.closed))
    gate.open()
  }

  /// For handlers, which have a thread of their own.
  private static func wait(_ gate: Gate) { gate.wait() }
}
