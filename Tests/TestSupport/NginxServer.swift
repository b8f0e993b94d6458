import FixtureServer
import PlatformC

/// A real nginx on a free loopback port, for contract tests and benchmarks.
///
/// It inherits a socket that already listens (nginx's own upgrade mechanism): connections queue until its first `accept`, and no
/// test polls whether it is up.
public final class NginxServer {
  /// There is no nginx, or it did not start.
  public struct Unavailable: Error, CustomStringConvertible {
    /// What is wrong and what to do about it.
    public let description: String
  }

  /// The port on 127.0.0.1, the same after `stop` and `start`.
  public let port: UInt16
  /// The folder served as `/`; the generated configuration and logs lie beside it.
  public let root: String
  private let folder: TemporaryFolder
  private let program: String
  /// Bound but not listening, so that the port stays reserved while nginx is stopped.
  private let holder: Int32
  private var process: ChildProcess?

  /// Starts nginx.
  ///
  /// - Parameters:
  ///   - server: Directives put into the `server` block.
  ///   - http: Directives put into the `http` block; `$PORT` in them stands for the port.
  ///   - listen: Options put after the address in `listen`, such as `ssl http2`.
  public init(server: String = "", http: String = "", listen: String = "") throws {
    guard let program = ServerProgram.path(of: "nginx") else {
      throw Unavailable(description: "there is no nginx: scripts/setup unpacks it for the tests")
    }
    self.program = program
    folder = try TemporaryFolder()
    root = folder.file("root")
    guard mkdir(root, 0o755) == 0 else { throw Unavailable(description: "cannot make \(root)") }
    holder = try Socket.bound(port: 0)
    port = Socket.port(of: holder)
    let http = http.split(separator: "$PORT", omittingEmptySubsequences: false).joined(separator: "\(port)")
    try folder.write(configuration(server: server, http: http, listen: listen), to: "nginx.conf")
    try start()
  }

  deinit {
    // SIGTERM, since SIGKILL would leave its worker running. nginx must end before its folder is removed, in which it
    // would create files.
    process?.end(by: SIGTERM)
    close(holder)
  }

  /// `http://127.0.0.1:PORT`
  public var url: String { "http://127.0.0.1:\(port)" }

  /// Puts a file where nginx serves it.
  public func publish(_ bytes: some Sequence<UInt8>, as name: String) throws {
    try folder.write(bytes, to: "root/\(name)")
  }

  /// Starts it again after `stop`; returns once its worker has closed a connection.
  ///
  /// A SIGTERM that reaches nginx after it has set its handlers, and before it waits for signals, is noted and never acted upon: it
  /// would serve for ever.
  public func start() throws {
    guard process == nil else { return }
    do {
      // Closed here before anything waits, so that an nginx that does not start ends what was connected to it.
      let listening = try Socket.bound(port: port)
      defer { close(listening) }
      try Socket.listen(listening)
      process = try ChildProcess(
        program, ["-p", folder.path, "-c", folder.file("nginx.conf")], environment: ["NGINX": "3;"],
        passing: listening)
    }
    let connection = try Socket.connected(port: port)
    defer { close(connection) }
    // Without a byte of a request: no log has it, and whatever is spoken here, the worker closes the connection.
    shutdown(connection, Int32(SHUT_WR))
    Socket.awaitReadable(connection)
  }

  /// Ends nginx and waits for it: from then on connections are refused.
  public func stop() async {
    process?.send(SIGTERM)
    _ = await process?.exit()
    process = nil
  }

  /// The contents of its error log.
  public var errors: String { (try? folder.text(of: "error.log")) ?? process?.errors.text ?? "" }

  private func configuration(server: String, http: String, listen: String) -> String {
    """
    daemon off;
    worker_processes 1;
    \(geteuid() == 0 ? "user root;" : "")
    pid \(folder.path)/nginx.pid;
    error_log \(folder.path)/error.log;
    events { worker_connections 1024; }
    http {
      access_log off;
      default_type application/octet-stream;
      sendfile on;
      tcp_nopush on;
      keepalive_requests 10000000;
      client_body_temp_path \(folder.path)/body;
      proxy_temp_path \(folder.path)/proxy;
      fastcgi_temp_path \(folder.path)/fastcgi;
      uwsgi_temp_path \(folder.path)/uwsgi;
      scgi_temp_path \(folder.path)/scgi;
      \(http)
      server {
        listen 127.0.0.1:\(port) \(listen);
        root \(root);
        \(server)
      }
    }

    """
  }
}
