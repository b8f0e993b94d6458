import CacheStore
import DataService
import PlatformC
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Serve: many clients, one thread", .inTurn) struct ServerTests {
  private static let line = #"{"url":"http://127.0.0.1:1/x"}"# + "\n"

  /// What a bench's server is told, and has done.
  private final class World: Sendable {
    let now = Mutex(ContinuousClock.now)
    let notes = Mutex<[String]>([])
    let isReachable = Mutex(true)

    func pass(_ time: Duration) { now.withLock { $0 += time } }
    func note(_ text: String) { notes.withLock { $0.append(text) } }
  }

  /// A server whose clock the test moves and whose turns it makes.
  private final class Bench {
    let folder: TemporaryFolder
    let path: String
    let world = World()
    private let server: Server
    private let listener: Int32

    /// - Parameter body: The fresh body of each load; `nil` for loads that deliver nothing.
    init(body: Data? = Data("hello".utf8), _ limits: Server.Limits = .init()) throws {
      folder = try TemporaryFolder()
      path = folder.file("s.serve")
      listener = try ServeSocket.listening(at: path)
      let loads = ScriptedLoads(
        deliveries: { body.map { [.fresh(.init(.init(whole: $0), source: .fresh), .new)] } ?? [] },
        ends: body != nil, note: { [world] in world.note($0) })
      server = Server(
        listener, loads, ServeTerms(try ArgumentParser.parse(["serve"]), DigestKey()), limits: limits,
        clock: { [world] in world.now.withLock { $0 } }, leave: { [world] in world.note("left") },
        isReachable: { [world] in world.isReachable.withLock { $0 } })
    }

    deinit { close(listener) }

    var count: Int { server.count }
    var notes: [String] { world.notes.withLock { $0 } }

    func client(_ text: String = "") throws -> ServeClient { try #require(ServeClient(path, text)) }

    /// Makes turns until a condition holds; whether it came to.
    @discardableResult func turn(until condition: () -> Bool = { false }) async -> Bool {
      await eventually {
        // Tasks make the lines.
        await Task.yield()
        return !server.turn(milliseconds: 0) || condition()
      } && condition()
    }

    /// Makes a few turns, in which all that clients have sent is read. Returns whether there is more to do.
    @discardableResult func settle() -> Bool { (0..<5).allSatisfy { _ in server.turn(milliseconds: 0) } }
  }

  @Test func `a line is answered with the lines of deliveries, and the connection is closed`() async throws {
    let bench = try Bench()
    let client = try bench.client(Self.line)
    #expect(await bench.turn { client.isAtEnd })
    #expect(client.lines.count == 1)
    #expect(client.lines.first?.member("body") == "hello")
    #expect(bench.count == 0)
  }

  @Test func `a line that comes in pieces, and one ended by the end of sending, are lines`() async throws {
    let bench = try Bench()
    let (first, second) = (
      try bench.client(String(Self.line.prefix(9))), try bench.client(String(Self.line.dropLast()))
    )
    bench.settle()
    first.send(String(Self.line.dropFirst(9)))
    second.endSending()
    #expect(await bench.turn { first.isAtEnd && second.isAtEnd })
    #expect(first.lines.first?.member("delivery") == "fresh")
    #expect(second.lines.first?.member("delivery") == "fresh")
  }

  @Test(
    "anything else is one line that says why",
    arguments: ["nonsense\n", line + "x", line + line, "{}\n", "\n", "\0\0\n"])
  func garbage(_ text: String) async throws {
    let bench = try Bench()
    let client = try bench.client(text)
    #expect(await bench.turn { client.isAtEnd })
    #expect(client.lines.count == 1)
    #expect(client.lines.first?.member("error") == "{}")
  }

  @Test func `a line may be one mebibyte long, and no longer`() async throws {
    let bench = try Bench()
    let padding = (1 << 20) - Self.line.utf8.count + 1
    for (more, wanted) in [(0, "fresh"), (1, nil)] {
      let text = String(repeating: " ", count: padding + more) + Self.line
      let client = try bench.client()
      var rest = text.utf8[...]
      let ended = await bench.turn {
        if !rest.isEmpty {
          rest = rest.dropFirst(max(0, client.send(String(decoding: rest.prefix(60_000), as: UTF8.self))))
        }
        return client.isAtEnd
      }
      #expect(ended)
      #expect(client.lines.first?.member("delivery") == wanted)
    }
  }

  @Test func `a line that does not end is waited for five seconds`() async throws {
    let bench = try Bench()
    let client = try bench.client("{")
    bench.settle()
    bench.world.pass(.milliseconds(4_999))
    bench.settle()
    #expect(!client.isAtEnd)
    bench.world.pass(.milliseconds(1))
    #expect(await bench.turn { client.isAtEnd })
    #expect(client.lines.first?.member("error") == "{}")
  }

  @Test func `whoever closes has cancelled; whoever only writes no more has not`() async throws {
    let bench = try Bench(body: nil)
    let (gone, silent) = (try bench.client(Self.line), try bench.client(Self.line))
    bench.settle()
    silent.endSending()
    gone.close()
    #expect(await bench.turn { bench.count == 1 })
    #expect(bench.notes == ["cancelled"])
    #expect(!silent.isAtEnd)
  }

  @Test func `a client that does not read is let go after thirty seconds, and stops nobody`() async throws {
    let bench = try Bench(body: Data(repeating: 0x61, count: 4 << 20))
    let (stuck, reader) = (try bench.client(Self.line), try bench.client(Self.line))
    // From the first byte that has no room on its thirty seconds pass.
    #expect(await bench.turn { stuck.hasMore && reader.isAtEnd })
    #expect(reader.lines.first?.utf8.count ?? 0 > 4 << 20)
    bench.world.pass(.milliseconds(29_999))
    #expect(bench.settle())
    #expect(bench.count == 1)
    bench.world.pass(.milliseconds(1))
    bench.settle()
    #expect(bench.count == 0)
    #expect(await bench.turn { stuck.isAtEnd })
    #expect(stuck.lines.first?.utf8.count ?? 0 < 4 << 20)
  }

  @Test func `sixty-four are answered at once, and the next one when one has gone`() async throws {
    let bench = try Bench(body: nil)
    let clients = try (0..<64).map { _ in try bench.client(Self.line) }
    let next = try bench.client("nonsense\n")
    #expect(await bench.turn { bench.count == 64 })
    bench.settle()
    #expect(next.lines == [])
    clients[0].close()
    #expect(await bench.turn { next.isAtEnd })
    #expect(next.lines.count == 1)
    for client in clients { client.close() }
    #expect(await bench.turn { bench.count == 0 })
  }

  @Test func `it ends once nobody has come for the time of --idle, and not before`() async throws {
    let bench = try Bench()
    let client = try bench.client(Self.line)
    #expect(await bench.turn { client.isAtEnd })
    bench.world.pass(.seconds(599))
    #expect(bench.settle())
    bench.world.pass(.seconds(1))
    #expect(!bench.settle())
    #expect(bench.notes == ["left"])
  }

  @Test func `whoever comes in the moment of the end is answered`() async throws {
    let bench = try Bench()
    bench.world.pass(.seconds(600))
    let client = try bench.client(Self.line)
    #expect(await bench.turn { client.isAtEnd })
    #expect(client.lines.first?.member("delivery") == "fresh")
    #expect(!bench.settle())
  }

  @Test func `without an end it waits for ever`() throws {
    var limits = Server.Limits()
    limits.idle = .zero
    let bench = try Bench(limits)
    bench.world.pass(.seconds(1_000_000))
    #expect(bench.settle())
  }

  @Test func `it ends once nobody can reach it, and answers those who have`() async throws {
    let bench = try Bench(body: nil)
    let client = try bench.client(Self.line)
    bench.settle()
    bench.world.isReachable.withLock { $0 = false }
    bench.world.pass(.seconds(10))
    #expect(bench.settle())
    client.close()
    #expect(await !bench.turn { false })
    #expect(bench.count == 0)
  }

  @Test func `the socket is its user's alone, and another user is not answered`() async throws {
    let bench = try Bench()
    var status = stat()
    #expect(stat(bench.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    try #require(geteuid() == 0, "another user can only be tried by root")
    // As if the mode were none.
    chmod(bench.path, 0o777)
    chmod(bench.folder.path, 0o755)
    let script = """
      import socket, os, sys
      # The folders above are the user's alone.
      os.chdir(os.path.dirname(sys.argv[1]))
      os.setuid(65534)
      with socket.socket(socket.AF_UNIX) as s:
          s.connect(os.path.basename(sys.argv[1]))
          try:
              s.sendall(sys.argv[2].encode())
              print(len(s.recv(100)))
          except (BrokenPipeError, ConnectionResetError):
              print(0)
      """
    let other = try ChildProcess("/usr/bin/python3", ["-c", script, bench.path, Self.line])
    let said = Mutex<String?>(nil)
    let waiting = Task {
      let finished = await other.finished()
      said.withLock { $0 = finished.outputText + finished.errorText }
    }
    #expect(await bench.turn { said.withLock { $0 != nil } })
    await waiting.value
    #expect(said.withLock { $0 } == "0\n")
    let own = try bench.client(Self.line)
    #expect(await bench.turn { own.isAtEnd })
    #expect(own.lines.count == 1)
  }

  @Test func `what a killed process has left at the path is replaced`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("s.serve")
    let first = try ServeSocket.listening(at: path)
    close(first)
    #expect(ServeClient(path) == nil)
    let second = try ServeSocket.listening(at: path)
    #expect(ServeClient(path) != nil)
    close(second)
  }

  @Test func `what is no socket is left where it is`() throws {
    let folder = try TemporaryFolder()
    let path = try folder.write("somebody's", to: "s.serve")
    let error = #expect(throws: OutputError.self) { try ServeSocket.listening(at: path) }
    guard case .failed(EEXIST, path: path)? = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(try folder.text(of: "s.serve") == "somebody's")
  }

  @Test func `a path that is too long for a socket is an error`() throws {
    let folder = try TemporaryFolder()
    #expect(throws: OutputError.self) {
      try ServeSocket.listening(at: folder.file(String(repeating: "x", count: 120)))
    }
    #expect(ServeSocket.connected(to: folder.file(String(repeating: "x", count: 120))) == nil)
  }
}
