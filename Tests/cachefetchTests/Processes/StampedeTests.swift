import FixtureServer
import PlatformC
import Synchronization
import TestSupport
import Testing
import TestTurns

/// Law 7 across processes: one exchange for a key, however many ask.
@Suite("Stampede: fifty processes, one cold key", .inTurn.serially, .serialized) struct StampedeTests {
  private static let count = 50
  /// As for a `Shell`: the processes wait for the store and for each other, however busy the machine is.
  private static let environment: [String: String?] = ["CACHEFETCH_TEST_TIMEOUTS": "1"]

  /// An origin that gives each request its answer by the request's number, from 1.
  private func origin(_ answer: @escaping @Sendable (Int) -> FixtureReply) throws -> FixtureServer {
    let asked = Mutex(0)
    return try FixtureServer { _, connection in
      let number = asked.withLock { count in
        count += 1
        return count
      }
      try connection.send(answer(number))
    }
  }

  /// An origin that answers nobody before the gate is open.
  private func origin(behind gate: Gate) throws -> FixtureServer {
    try origin { _ in
      gate.wait()
      return .ok("the answer")
    }
  }

  /// Starts that many commands on one store, each of which says what it does and has an hour, unless told otherwise.
  private func start(
    _ count: Int, _ url: String, _ store: TemporaryStore, _ more: [String] = []
  ) throws -> [ChildProcess] {
    let time = more.contains("--timeout") ? [] : ["--timeout", "1h"]
    return try (0..<count).map { _ in
      try ChildProcess(
        BuiltProduct.cachefetch(),
        ["-v", "--retry", "0", "--connect-timeout", "1h", "--store", store.path] + time + more + [url],
        environment: Self.environment)
    }
  }

  /// Starts one.
  private func startOne(_ url: String, _ store: TemporaryStore, _ more: [String]) throws -> ChildProcess {
    try #require(try start(1, url, store, more).first)
  }

  /// Returns once every process has said that it waits or leads, with the number of those that lead.
  private func haveTakenSides(_ children: [ChildProcess]) async -> Int {
    var leaders = 0
    for child in children where await child.says("no other process") { leaders += 1 }
    return leaders
  }

  @Test func `law 7: one exchange, fifty answers`() async throws {
    let mayAnswer = Gate()
    let origin = try origin(behind: mayAnswer)
    let store = try TemporaryStore()
    let children = try start(Self.count, origin.url + "/cold", store)
    #expect(await haveTakenSides(children) == 1)
    mayAnswer.open()
    for child in children {
      let finished = await child.finished()
      #expect(finished.exit == .status(0))
      #expect(finished.outputText == "the answer")
    }
    #expect(origin.requests().count == 1)
  }

  @Test
  func `law 7: a killed leader is replaced by one of those who wait: two exchanges, forty-nine answers`()
    async throws
  {
    let mayAnswer = Gate()
    let origin = try origin(behind: mayAnswer)
    let store = try TemporaryStore()
    let children = try start(Self.count, origin.url + "/cold", store)
    #expect(await haveTakenSides(children) == 1)
    await origin.waitForRequests(1)
    var leader: ChildProcess?
    for child in children where await child.says("no other process") { leader = child }
    try #require(leader != nil)
    leader?.send(SIGKILL)
    await origin.waitForRequests(2)
    mayAnswer.open()
    var answers = 0
    for child in children {
      let finished = await child.finished()
      if finished.exit == .status(0), finished.outputText == "the answer" { answers += 1 }
    }
    #expect(answers == Self.count - 1)
    #expect(origin.requests().count == 2)
  }

  @Test func `law 7: a leader whose answer may not be stored releases all followers at once`() async throws {
    let firstMayAnswer = Gate()
    let allAreHere = Gate()
    let origin = try origin { number in
      if number == 1 { firstMayAnswer.wait() }
      if number == Self.count { allAreHere.open() }
      // No follower is answered before every one of them has asked: they go together or not at all.
      if number > 1 { allAreHere.wait() }
      return .ok("secret", ["Cache-Control": "no-store"])
    }
    let store = try TemporaryStore()
    let children = try start(Self.count, origin.url + "/private", store)
    #expect(await haveTakenSides(children) == 1)
    firstMayAnswer.open()
    for child in children {
      let finished = await child.finished()
      #expect(finished.exit == .status(0))
      #expect(finished.outputText == "secret")
    }
    #expect(origin.requests().count == Self.count)
  }

  @Test func `law 7: a stopped leader costs a follower no more than its own deadline`() async throws {
    // The leader has the same time, or it would lead nobody: to be stopped before that is over, it needs more
    // of it where the machine is busy.
    var finished = try await following(timeout: "2s")
    for timeout in ["10s", "60s"] where !finished.errorText.contains("waiting for another process") {
      finished = try await following(timeout: timeout)
    }
    #expect(finished.exit == .status(4))
    #expect(finished.errorText.contains("waiting for another process"))
  }

  /// What becomes of a process while the leader is stopped, or of a leader that never was one.
  private func following(timeout: String) async throws -> ChildProcess.Finished {
    let mayAnswer = Gate()
    let origin = try origin(behind: mayAnswer)
    let store = try TemporaryStore()
    let leader = try startOne(origin.url + "/cold", store, ["--timeout", timeout])
    guard await leader.says("no other process") else {
      mayAnswer.open()
      return await leader.finished()
    }
    leader.send(SIGSTOP)
    let finished = await (try startOne(origin.url + "/cold", store, ["--timeout", timeout])).finished()
    leader.send(SIGCONT)
    leader.send(SIGKILL)
    mayAnswer.open()
    _ = await leader.finished()
    withExtendedLifetime(origin) {}
    return finished
  }

  @Test func `two identical POSTs make two exchanges`() async throws {
    let bothAreHere = Gate()
    let origin = try origin { number in
      if number == 2 { bothAreHere.open() }
      bothAreHere.wait()
      return .ok("done")
    }
    let store = try TemporaryStore()
    let children = try start(2, origin.url + "/act", store, ["-X", "POST", "-d", "same"])
    for child in children { #expect(await child.finished().exit == .status(0)) }
    #expect(origin.requests().count == 2)
  }

  @Test func `law 7: ten processes at once that want nothing older make two exchanges at most`() async throws
  {
    let mayAnswer = Gate()
    let origin = try origin { number in
      mayAnswer.wait()
      return .ok("answer \(number)")
    }
    let store = try TemporaryStore()
    let children = try start(10, origin.url + "/x", store, ["--policy", "fresh-only"])
    var waiting = 0
    for child in children where await child.says("waiting for another process") { waiting += 1 }
    #expect(waiting == 9)
    mayAnswer.open()
    for child in children {
      let finished = await child.finished()
      #expect(
        finished.exit == .status(0) && finished.outputText.hasPrefix("answer "), "\(finished.errorText)")
    }
    #expect(origin.requests().count <= 2)
  }

  @Test func `law 8: of two processes, the exchange that began later keeps the row`() async throws {
    let firstMayAnswer = Gate()
    let origin = try origin { number in
      if number == 1 { firstMayAnswer.wait() }
      return .ok("answer \(number)")
    }
    let store = try TemporaryStore()
    let older = try startOne(origin.url + "/x", store, ["--policy", "fresh-only"])
    await origin.waitForRequests(1)
    // Not alike, so that it does not wait for the other.
    let newer = try startOne(origin.url + "/x", store, ["--policy", "fresh-only", "-H", "X-Other: 1"])
    #expect(await newer.finished().outputText == "answer 2")
    firstMayAnswer.open()
    #expect(await older.finished().outputText == "answer 1")
    let stored = try await ChildProcess.run(
      BuiltProduct.cachefetch(), ["--offline", "--store", store.path, origin.url + "/x"],
      environment: Self.environment)
    #expect(stored.outputText == "answer 2")
  }
}

extension ChildProcess {
  /// Whether the process says so of the others, once it has said anything of them, or that it goes alone.
  fileprivate func says(_ words: String) async -> Bool {
    let errors = errors
    await withTaskGroup(of: Void.self) { group in
      for said in [" process ", "goes alone: "] { group.addTask { _ = await errors.waits(for: said) } }
      _ = await group.next()
      group.cancelAll()
    }
    return errors.text.contains("* \(words)")
  }
}
