import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport

/// The servers of the table, and the store that each run gets a copy of.
final class PrintedWorld: Sendable {
  private let server: FixtureServer
  /// Where a temporary redirect leads to.
  private let portal: FixtureServer
  /// Is there while the store is filled, and then no more.
  private let down: FixtureServer
  private let log: RunLog
  private let template: TemporaryStore
  private let folder: TemporaryFolder

  /// What a run has come to.
  struct Outcome {
    let finished: ChildProcess.Finished
    let file: String
    let exchanges: Int
  }

  init() async throws {
    let log = RunLog()
    let portal = try FixtureServer { request, connection in
      log.note(request)
      try connection.send(.ok(PrintedBody.portal, ["Content-Type": "text/html"]))
    }
    let (portalPort, handler) = (portal.port, Self.answer)
    server = try FixtureServer { request, connection in
      log.note(request)
      try handler(request, connection, portalPort)
    }
    down = try FixtureServer { request, connection in try handler(request, connection, portalPort) }
    self.portal = portal
    self.log = log
    template = try TemporaryStore()
    folder = try TemporaryFolder()
    let urls = PrintedCase.states.filter { $0.row != .nothing }.map(url)
    let run = try await ChildProcess.run(
      BuiltProduct.cachefetch(), ["preload", "-q", "-H", "X-Run: filling"] + urls,
      environment: environment(template.path))
    guard run.status == 0 else { throw Unfilled(text: run.errorText) }
    down.stop()
  }

  /// The store could not be filled.
  struct Unfilled: Error { let text: String }

  func url(_ state: PrintedCase.State) -> String {
    (state.answer == .down ? down : server).url + state.path
  }

  /// Runs a case in a folder of its own.
  func run(_ asked: PrintedCase, number: Int) async throws -> Outcome {
    let place = folder.file("\(number)")
    let files = FileManager.default
    try files.createDirectory(atPath: place, withIntermediateDirectories: false)
    defer { try? files.removeItem(atPath: place) }
    let (from, name) = (template.folder.path, template.path.split(separator: "/").last.map(String.init) ?? "")
    for file in try files.contentsOfDirectory(atPath: from) where file.hasPrefix(name) {
      try files.copyItem(atPath: "\(from)/\(file)", toPath: "\(place)/\(file)")
    }
    try Data(PrintedBody.before.utf8).write(to: URL(filePath: "\(place)/out"))
    let isTerminal = asked.form == .terminal
    let child = try ChildProcess(
      BuiltProduct.cachefetch(), asked.words + ["-H", "X-Run: \(number)", url(asked.state)],
      environment: environment("\(place)/\(name)"), directory: place,
      output: isTerminal ? .terminal : .captured,
      errors: isTerminal ? .asOutput : .captured)
    let finished = await child.finished()
    let file = String(decoding: try Data(contentsOf: URL(filePath: "\(place)/out")), as: UTF8.self)
    return Outcome(finished: finished, file: file, exchanges: log.count(of: "\(number)"))
  }

  private func environment(_ store: String) -> [String: String?] {
    [
      "CACHEFETCH_STORE": store, "http_proxy": nil, "all_proxy": nil, "NO_COLOR": "1", "COLUMNS": nil,
      "TERM": "xterm",
      // As for a `Shell`.
      "CACHEFETCH_TEST_TIMEOUTS": "1",
    ]
  }

  private static func answer(
    _ request: FixtureRequest, _ connection: FixtureConnection, portalPort: UInt16
  ) throws {
    let parts = request.path.split(separator: "/").map(String.init)
    let type: KeyValuePairs<String, String> = ["Content-Type": "text/plain", "ETag": "\"1\""]
    let fresh = FixtureReply.ok(PrintedBody.fresh, ["Content-Type": "text/plain", "ETag": "\"2\""])
    if request["X-Run"] == "filling" {
      let lifetime = parts.first == "fresh" ? "max-age=100000" : "max-age=0"
      return try connection.send(.ok(PrintedBody.stored, type).adding("Cache-Control", lifetime))
    }
    switch PrintedCase.Answer(rawValue: parts.last ?? "") {
    case .notModified where request["If-None-Match"] == "\"1\"":
      try connection.send(.notModified(etag: "\"1\""))
    case .notModified, .same: try connection.send(.ok(PrintedBody.stored, type))
    case .notFound: try connection.send(.status(404, PrintedBody.error))
    case .unavailable: try connection.send(.status(503, PrintedBody.error))
    case .noStore: try connection.send(fresh.adding("Cache-Control", "no-store"))
    case .redirect: try connection.send(.redirect(to: "/target"))
    case .portal: try connection.send(.redirect(to: "http://localhost:\(portalPort)/login"))
    case .cutOff:
      try connection.sendRaw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhalf")
      connection.close()
    case .slow: connection.waitForPeerClose()
    case .otherType: try connection.send(.ok(PrintedBody.portal, ["Content-Type": "text/html"]))
    case .changed, .down, nil: try connection.send(fresh)
    }
  }
}

/// How many requests each run has made.
private final class RunLog: Sendable {
  private let counts = Mutex<[String: Int]>([:])

  func note(_ request: FixtureRequest) {
    let run = request["X-Run"] ?? ""
    counts.withLock { $0[run, default: 0] += 1 }
  }

  func count(of run: String) -> Int { counts.withLock { $0[run] ?? 0 } }
}
