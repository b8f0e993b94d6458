import PlatformC
public import PlatformFoundation
import Synchronization

/// A scriptable HTTP/1.1 origin on 127.0.0.1, or on a Unix-domain socket, that runs a handler for each request.
///
/// Each connection has its own thread, on which the handler is called and may block; connections are persistent. Every
/// request is logged before its handler is called.
///
/// ```swift
/// let origin = try FixtureServer(routes: ["/a": .ok("hello", ["ETag": "\"1\""])])
/// let held = Gate()
/// let slow = try FixtureServer { request, connection in
///   held.wait()
///   try connection.send(.ok("late"))
/// }
/// ```
public final class FixtureServer: Sendable {
  /// Answers a request, or breaks the connection off. An error thrown closes the connection.
  public typealias Handler = @Sendable (FixtureRequest, FixtureConnection) throws -> Void
  /// Computes a reply.
  public typealias Route = @Sendable (FixtureRequest) throws -> FixtureReply

  private enum Address: Sendable {
    case port(UInt16)
    case path(String)
  }

  private struct State {
    var listener: Listener?
    /// Bound but not listening while the server is stopped: connections are refused and the port stays reserved.
    var holder: Int32 = -1
    var accepted = 0
  }

  private let handler: Handler
  private let address: Address
  private let log = RequestLog()
  private let state: Mutex<State>

  /// Starts a server on a free port.
  public convenience init(_ handler: @escaping Handler) throws {
    try self.init(fd: try Socket.bound(port: 0), path: nil, handler)
  }

  /// Starts a server that sends a fixed reply for each path (or target with its query); 404 for others.
  public convenience init(routes: [String: FixtureReply]) throws {
    try self.init { request, connection in
      try connection.send(routes[request.target] ?? routes[request.path] ?? .status(404, "no such route\n"))
    }
  }

  /// Starts a server that computes the reply for each path (or target with its query); 404 for others.
  public convenience init(routes: [String: Route]) throws {
    try self.init { request, connection in
      let route = routes[request.target] ?? routes[request.path]
      try connection.send(try route?(request) ?? .status(404, "no such route\n"))
    }
  }

  /// Starts a server on a Unix-domain socket at a path of at most 100 bytes; a file there is replaced.
  public convenience init(unixSocket path: String, _ handler: @escaping Handler) throws {
    try self.init(fd: try Socket.bound(path: path), path: path, handler)
  }

  /// Starts a server on the port of a server that has stopped: the origin is back.
  public static func on(port: UInt16, _ handler: @escaping Handler) throws -> FixtureServer {
    try FixtureServer(fd: try Socket.bound(port: port), path: nil, handler)
  }

  private init(fd: Int32, path: String?, _ handler: @escaping Handler) throws {
    self.handler = handler
    address = path.map { .path($0) } ?? .port(Socket.port(of: fd))
    state = Mutex(State())
    try listen(fd)
  }

  deinit {
    stop()
    let holder = state.withLock(\.holder)
    if holder >= 0 { close(holder) }
  }

  /// The port on 127.0.0.1; 0 for a Unix-domain socket. The same before `stop` and after `start`.
  public var port: UInt16 {
    if case .port(let port) = address { port } else { 0 }
  }

  /// `http://127.0.0.1:PORT`, or `http://localhost` for a Unix-domain socket.
  public var url: String {
    if case .port(let port) = address { "http://127.0.0.1:\(port)" } else { "http://localhost" }
  }

  /// The URL of a path on this server; the path begins with `/` and may have a query.
  public func url(_ path: String) -> URL {
    guard let url = URL(string: url + path) else { preconditionFailure("no URL: \(url + path)") }
    return url
  }

  /// The requests received so far, in the order of their completion; for one path (or target) if given.
  public func requests(to path: String? = nil) -> [FixtureRequest] { log.requests(to: path) }

  /// Suspends until `count` requests have been received, or the task is cancelled.
  public func waitForRequests(_ count: Int, to path: String? = nil) async { await log.wait(count, to: path) }

  /// Empties the log.
  public func forgetRequests() { log.forget() }

  /// How many connections were accepted since the server was made.
  public var acceptedConnections: Int { state.withLock { $0.listener?.accepted ?? $0.accepted } }

  /// How many connections are open now.
  public var openConnections: Int { state.withLock { $0.listener?.open ?? 0 } }

  /// Stops the origin: open connections are closed, new ones refused. The port stays reserved for `start`.
  public func stop() {
    guard
      let listener = state.withLock({ state -> Listener? in
        defer { state.listener = nil }
        state.accepted = state.listener?.accepted ?? state.accepted
        return state.listener
      })
    else { return }
    listener.stop { [self] in
      guard case .port(let port) = address, let holder = try? Socket.bound(port: port) else { return }
      state.withLock { $0.holder = holder }
    }
    if case .path(let path) = address { unlink(path) }
  }

  /// Listens again at the same address as before `stop`.
  public func start() throws {
    guard state.withLock({ $0.listener == nil }) else { return }
    let holder = state.withLock { state in
      defer { state.holder = -1 }
      return state.holder
    }
    switch address {
    case .path(let path): try listen(try Socket.bound(path: path))
    case .port(let port): try listen(holder >= 0 ? holder : try Socket.bound(port: port))
    }
  }

  private func listen(_ fd: Int32) throws {
    let first = state.withLock(\.accepted) + 1
    let listener = try Listener(fd: fd, firstNumber: first) { [handler, log] connection in
      Self.serve(connection, handler, log)
    }
    state.withLock { $0.listener = listener }
  }

  private static func serve(_ connection: FixtureConnection, _ handler: Handler, _ log: RequestLog) {
    var reader = RequestReader(
      more: { try connection.readMore() },
      sayContinue: { try connection.sendRaw("HTTP/1.1 100 Continue\r\n\r\n") })
    do {
      while let request = try reader.next(connection: connection.number) {
        connection.begin(request)
        log.append(request)
        try handler(request, connection)
        if connection.isDone { return }
      }
    } catch is RequestReader.Malformed {
      try? connection.send(.status(400, "malformed request\n"))
    } catch {
      return  // the client went away, or the handler wants the connection broken off
    }
  }
}
