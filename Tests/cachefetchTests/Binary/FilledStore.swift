import FixtureServer
import PlatformFoundation
import TestSupport
import Testing

extension Shell {
  /// Three rows: a of alice, b tagged, c long.
  static func filled() async throws -> (shell: Shell, origin: FixtureServer) {
    let shell = try Shell()
    let origin = try FixtureServer { request, connection in
      let body = request.path == "/c" ? String(repeating: "c", count: 5_000) : request.path
      try connection.send(.ok(body, ["Cache-Control": request.path == "/b" ? "max-age=0" : "max-age=360000"]))
    }
    _ = try await shell.run("--account", "alice", origin.url + "/a")
    _ = try await shell.run("--tag", "news", origin.url + "/b")
    _ = try await shell.run("--pin", origin.url + "/c")
    return (shell, origin)
  }

  /// What `list` shows with those filters, by the ends of the URLs.
  func listed(_ words: String...) async throws -> [String] {
    struct Row: Decodable { var url: String }
    let run = try await ChildProcess.run(
      BuiltProduct.cachefetch(), ["list", "--json"] + words, environment: environment)
    #expect(run.status == 0 && run.errors.isEmpty)
    return try run.lines.map { try JSONDecoder().decode(Row.self, from: Data($0.utf8)).url.suffix(2) }.map(
      String.init)
  }
}
