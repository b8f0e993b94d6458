import CacheStore
@testable import DataService
import FixtureServer
import Foundation
import TestSupport
import Testing
import TestTurns

@Suite("A connection without HTTP", .inTurn) struct RawConnectionTests {
  private enum Told: Sendable, Equatable {
    case opened
    case received([UInt8])
    case ended(DataServiceError.Kind)
  }

  /// A connection, and what it tells.
  private final class Line: @unchecked Sendable {
    let thread = NetworkThread()
    let transport: CurlTransport
    let events: AsyncStream<Told>
    private let connection: RawConnection

    init(to endpoint: RawConnection.Endpoint, library: String? = nil) {
      var configuration = CurlTransport.Configuration()
      if let library { configuration.libraryName = library }
      transport = CurlTransport(
        configuration: configuration, thread: thread, timekeeper: SystemTimekeeper(thread: thread))
      let (events, teller) = AsyncStream.makeStream(of: Told.self)
      self.events = events
      connection = RawConnection(to: endpoint, over: transport) { event in
        switch event {
        case .opened: teller.yield(.opened)
        case .received(let bytes): teller.yield(.received(Array(bytes)))
        case .ended(let error):
          teller.yield(.ended(error.kind))
          teller.finish()
        }
      }
    }

    deinit { thread.perform { [connection] in connection.close() } }

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
      RawConnection.Endpoint(host: "127.0.0.1", port: Int(tcp.url("/").port ?? 0)),
      RawConnection.Endpoint(host: "", port: 0, unixSocket: folder.file("s")),
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
    let missing = Line(to: .init(host: "127.0.0.1", port: 1), library: "libcurl-of-no-system.so")
    await missing.onThread { $0.open() }
    #expect(await missing.all().last == .ended(.libraryMissing))
    let plain = try SilentListener()
    plain.hangUpOnEveryone()
    var endpoint = RawConnection.Endpoint(host: "127.0.0.1", port: Int(plain.port))
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

  @Test func `exchanges on the same thread go on beside it, and a thread that ends closes it`() async throws {
    let gate = Gate()
    let origin = try FixtureServer { request, connection in
      if request.path == "/waits" { Self.wait(gate) }
      try connection.send(FixtureReply(status: 200, body: Array("hello".utf8)))
    }
    let line = Line(to: .init(host: "127.0.0.1", port: Int(origin.url("/").port ?? 0)))
    await line.ask("/waits")
    await origin.waitForRequests(1)
    let response = try await line.transport.response(to: TransportRequest(url: origin.url("/")))
    #expect(response.status == 200)
    await line.thread.stop()
    #expect(await line.all().last == .ended(.closed))
    gate.open()
  }

  /// For handlers, which have a thread of their own.
  private static func wait(_ gate: Gate) { gate.wait() }
}
