import PlatformC
import TestSupport

/// A server of a fleet's second tier, and machines that know it.
struct TierFleet {
  let server: RedisServer
  let url: String

  init(_ more: String = "") async throws {
    server = try await RedisServer()
    let key = try await Self.key(for: Shell(), in: server.folder)
    // Fixtures speak plain http; the patience is that of a busy machine.
    url = "redis+unix://\(server.socket)?key-file=\(key)&plain-http=yes&patience=10s" + more
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
