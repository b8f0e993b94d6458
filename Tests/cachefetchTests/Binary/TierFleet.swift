import PlatformC
import TestSupport

/// A server of a fleet's second tier, and machines that know it.
struct TierFleet {
  let server: RedisServer
  let url: String

  /// - Parameter certificates: With `server`, for a server that is reached over TLS, and not by its socket.
  init(_ more: String = "", certificates: TestCertificates? = nil) async throws {
    server = try await RedisServer(certificates: certificates)
    let key = try await Self.key(for: Shell(), in: server.folder)
    let place = certificates == nil ? "redis+unix://\(server.socket)" : "rediss://localhost:\(server.port)"
    let authority = certificates.map { "&ca-file=\($0.authority)" } ?? ""
    // Fixtures speak plain http; the patience is that of a busy machine.
    url = "\(place)?key-file=\(key)&plain-http=yes&patience=60s\(authority)\(more)"
  }

  /// A machine: a store of its own, and the tier.
  func machine() throws -> Shell {
    var shell = try Shell()
    shell.environment["CACHEFETCH_TIER"] = url
    return shell
  }

  /// The path of a new fleet's key, in a folder or beside the shell's store.
  static func key(for shell: Shell, in folder: TemporaryFolder? = nil) async throws -> String {
    let key = try await shell.run("doctor", "--new-fleet-key").outputText
    let folder = folder ?? shell.store.folder
    let path = try folder.write(key, to: "fleet.key")
    chmod(path, 0o600)
    return path
  }
}
