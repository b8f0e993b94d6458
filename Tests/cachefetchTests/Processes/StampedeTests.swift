import FixtureServer
import Glibc
import Synchronization
import TestSupport
import Testing

/// Law 7 across processes: one exchange for a key, however many ask.
@Suite("Stampede: fifty processes, one cold key", .serialized) struct StampedeTests {
  private static let count = 50

  /// Starts that many commands on one store, each of which says what it does.
  private func start(
    _ count: Int, _ url: String, _ store: TemporaryStore, _ more: [String] = []
  ) throws -> [ChildProcess] {
    try (0..<count).map { _ in
      try ChildProcess(
        BuiltProduct.cachefetch(), ["-v", "--retry", "0", "--store", store.path] + more + [url])
    }
  }

  /// Returns once every process has said that it waits or leads, with the number of those that lead.
  private func haveTakenSides(_ children: [ChildProcess]) async -> Int {
    var leaders = 0
    for child in children {
      await child.errors.waits(for: "\n")
      if await child.says("leads") { leaders += 1 }
    }
    return leaders
  }

  @Test func `law 7: one exchange, fifty answers`() async throws {
    let mayAnswer = Gate()
    let origin = try FixtureServer { _, connection in
      mayAnswer.wait()
      try connection.send(.ok("the answer"))
    }
    let store = try TemporaryStore()
    let children = try start(Self.count, origin.url + "/cold", store)
    #expect(await haveTakenSides(children) == 1)
    mayAnswer.open()
    for child in children {
      let finished = await child.finished()
      #expect(finished.exit == .status(0))
      #expect(String(decoding: finished.output, as: UTF8.self) == "the answer")
    }
    #expect(origin.requests().count == 1)
  }

  @Test func `law 7: a killed leader is replaced at once: two exchanges, forty-nine answers`() async throws {
    let mayAnswer = Gate()
    let origin = try FixtureServer { _, connection in
      mayAnswer.wait()
      try connection.send(.ok("the answer"))
    }
    let store = try TemporaryStore()
    let children = try start(Self.count, origin.url + "/cold", store)
    #expect(await haveTakenSides(children) == 1)
    await origin.waitForRequests(1, to: nil)
    var leader: ChildProcess?
    for child in children where await child.says("leads") { leader = child }
    try #require(leader != nil)
    leader?.send(SIGKILL)
    await origin.waitForRequests(2, to: nil)
    mayAnswer.open()
    var answers = 0
    for child in children {
      let finished = await child.finished()
      if finished.exit == .status(0), finished.output == Array("the answer".utf8) { answers += 1 }
    }
    #expect(answers == Self.count - 1)
    #expect(origin.requests().count == 2)
  }

  @Test func `law 7: a leader whose answer may not be stored releases all followers at once`() async throws {
    let firstMayAnswer = Gate()
    let allAreHere = Gate()
    let asked = Mutex(0)
    let origin = try FixtureServer { _, connection in
      let number = asked.withLock { count in
        count += 1
        return count
      }
      if number == 1 { firstMayAnswer.wait() }
      if number == Self.count { allAreHere.open() }
      // No follower is answered before every one of them has asked: they go together or not at all.
      if number > 1 { allAreHere.wait() }
      try connection.send(.ok("secret", ["Cache-Control": "no-store"]))
    }
    let store = try TemporaryStore()
    let children = try start(Self.count, origin.url + "/private", store)
    #expect(await haveTakenSides(children) == 1)
    firstMayAnswer.open()
    for child in children {
      let finished = await child.finished()
      #expect(finished.exit == .status(0))
      #expect(finished.output == Array("secret".utf8))
    }
    #expect(origin.requests().count == Self.count)
  }

  @Test func `law 7: a stopped leader costs a follower no more than its own deadline`() async throws {
    let mayAnswer = Gate()
    let origin = try FixtureServer { _, connection in
      mayAnswer.wait()
      try connection.send(.ok("the answer"))
    }
    let store = try TemporaryStore()
    let leader = try #require(try start(1, origin.url + "/cold", store, ["--timeout", "2s"]).first)
    #expect(await leader.says("leads"))
    leader.send(SIGSTOP)
    let follower = try #require(try start(1, origin.url + "/cold", store, ["--timeout", "2s"]).first)
    let finished = await follower.finished()
    #expect(finished.exit == .status(4))
    #expect(String(decoding: finished.errors, as: UTF8.self).contains("waits"))
    leader.send(SIGCONT)
    leader.send(SIGKILL)
    mayAnswer.open()
    _ = await leader.finished()
  }

  @Test func `two identical POSTs make two exchanges`() async throws {
    let bothAreHere = Gate()
    let asked = Mutex(0)
    let origin = try FixtureServer { _, connection in
      let isSecond = asked.withLock { count in
        count += 1
        return count == 2
      }
      if isSecond { bothAreHere.open() }
      bothAreHere.wait()
      try connection.send(.ok("done"))
    }
    let store = try TemporaryStore()
    let children = try start(2, origin.url + "/act", store, ["-X", "POST", "-d", "same"])
    for child in children { #expect(await child.finished().exit == .status(0)) }
    #expect(origin.requests().count == 2)
  }

  @Test func `law 8: of two processes, the exchange that began later keeps the row`() async throws {
    let firstMayAnswer = Gate()
    let asked = Mutex(0)
    let origin = try FixtureServer { _, connection in
      let number = asked.withLock { count in
        count += 1
        return count
      }
      if number == 1 { firstMayAnswer.wait() }
      try connection.send(.ok("answer \(number)"))
    }
    let store = try TemporaryStore()
    let older = try #require(try start(1, origin.url + "/x", store, ["--policy", "fresh-only"]).first)
    await origin.waitForRequests(1, to: nil)
    let newer = try #require(try start(1, origin.url + "/x", store, ["--policy", "fresh-only"]).first)
    #expect(await newer.finished().output == Array("answer 2".utf8))
    firstMayAnswer.open()
    #expect(await older.finished().output == Array("answer 1".utf8))
    let stored = try await ChildProcess.run(
      BuiltProduct.cachefetch(), ["--offline", "--store", store.path, origin.url + "/x"])
    #expect(stored.output == Array("answer 2".utf8))
  }
}

extension ChildProcess {
  /// Whether the process has said the word on standard error, in the lines it has written so far.
  fileprivate func says(_ word: String) async -> Bool {
    if word == "leads" || word == "waits" {
      await errors.lines(1)
    }
    return errors.text.contains("* \(word)")
  }
}
