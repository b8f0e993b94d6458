import FixtureServer
import PlatformC

/// A real redis-server in a folder of its own, on a unix socket and, with certificates, on a loopback port over TLS.
///
/// It has the user that the documentation of the tier has, and nothing on disk.
public final class RedisServer: Sendable {
  /// There is no redis-server, or it did not start.
  public struct Unavailable: Error, CustomStringConvertible {
    /// What is wrong and what to do about it.
    public let description: String
  }

  /// What the tier's user may do.
  public static let rights = """
    ~cf1:* &cf1:* -@all +hello +auth +ping +evalsha +script|load +get +hmget +hget +hset +set +del +unlink +pexpire \
    +time +subscribe +unsubscribe +publish +pubsub|numsub
    """
  /// The tier's user, and a user that may not write.
  public static let (user, reader, password) = ("cachefetch", "reader", "a password of the tier")

  /// The path of the unix socket.
  public let socket: String
  /// The port on 127.0.0.1 that speaks TLS; 0 without certificates.
  public let port: UInt16
  /// The folder of the server's files and of the password file.
  public let folder: TemporaryFolder
  private let process: Guarded
  private let holder: Int32
  private let program: String

  private final class Guarded: @unchecked Sendable { var process: ChildProcess? }

  /// Starts it.
  ///
  /// - Parameters:
  ///   - certificates: With `server`, for `localhost`.
  ///   - directives: Further lines of its configuration.
  public init(certificates: TestCertificates? = nil, directives: String = "") async throws {
    guard let program = ServerProgram.path(of: "redis-server") else {
      throw Unavailable(description: "there is no redis-server: scripts/setup unpacks it for the tests")
    }
    self.program = program
    folder = try TemporaryFolder()
    socket = folder.file("redis.socket")
    // Bound and not listening, so that nobody else gets the port.
    holder = certificates == nil ? -1 : try Socket.bound(port: 0)
    port = holder < 0 ? 0 : Socket.port(of: holder)
    process = Guarded()
    var lines = """
      port 0
      unixsocket \(socket)
      unixsocketperm 700
      dir \(folder.path)
      save ""
      appendonly no
      daemonize no
      user \(Self.user) on >"\(Self.password)" \(Self.rights)
      user \(Self.reader) on >"\(Self.password)" \(Self.rights) -set -hset -del -unlink -pexpire

      """
    // In the configuration a password is in one word with its sign.
    lines = lines.replacing(">\"\(Self.password)\"", with: "\">\(Self.password)\"")
    if let certificates {
      lines += """
        tls-port \(port)
        bind 127.0.0.1
        tls-cert-file \(certificates.certificate("server"))
        tls-key-file \(certificates.key("server"))
        tls-ca-cert-file \(certificates.authority)
        tls-auth-clients optional

        """
    }
    try folder.write(lines + directives, to: "redis.conf")
    try folder.write(Self.password + "\n", to: "password")
    chmod(folder.file("password"), 0o600)
    try await start()
  }

  deinit {
    // A stopped process would not take the signal to end.
    process.process?.send(SIGCONT)
    process.process?.end(by: SIGTERM)
    if holder >= 0 { close(holder) }
  }

  /// Starts it again after ``stop()``, empty.
  public func start() async throws {
    let child = try ChildProcess(program, [folder.file("redis.conf")])
    process.process = child
    guard await child.output.waits(for: "eady to accept connections") else {
      throw Unavailable(description: "redis-server did not start: \(child.output.text)")
    }
  }

  /// Ends it, and waits for that.
  public func stop() async {
    process.process?.send(SIGTERM)
    _ = await process.process?.exit()
    process.process = nil
  }

  /// Sends it a signal, such as SIGSTOP.
  public func send(_ signal: Int32) { process.process?.send(signal) }
}
