import CacheStore
import DataService
import DataServiceTesting
import Dispatch
import FixtureServer
import Launch
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// Nothing of a launch is done on the main thread but what its caller does there: executors are looked at, no clock.
@Suite("The main thread is left alone", .inTurn) struct MainThreadTests {
  /// Which of a program's parts were called, and whether ever on the main thread.
  private final class Witness: Sendable {
    private let calls = Mutex<[String: Bool]>([:])

    private static let key = DispatchSpecificKey<Bool>()
    private static let mark: Void = DispatchQueue.main.setSpecific(key: key, value: true)

    /// Whether this is the main actor's executor. A test runner may have given the first thread away, so that the thread
    /// itself does not tell.
    static var isOnMain: Bool {
      _ = mark
      return DispatchQueue.getSpecific(key: key) == true
    }

    func note(_ part: String) {
      let isMain = Self.isOnMain
      calls.withLock { $0[part] = $0[part] == true || isMain }
    }

    var parts: [String] { calls.withLock { $0.keys.sorted() } }
    var onMain: [String] { calls.withLock { calls in calls.filter(\.value).keys.sorted() } }
  }

  private struct Credentials: CredentialStore {
    let witness: Witness
    let kept = MemoryCredentials(Credential(account: "alice", token: "old"))

    func credential() async throws -> Credential? {
      witness.note("read credential")
      return try await kept.credential()
    }
    func save(_ credential: Credential) async throws {
      witness.note("save credential")
      try await kept.save(credential)
    }
    func remove() async throws {
      witness.note("remove credential")
      try await kept.remove()
    }
  }

  private func request(_ path: String) throws -> DataService.Request {
    DataService.Request(try #require(URL(string: "http://origin.test/\(path)")))
  }

  @MainActor @Test func `a launch from the main actor calls nothing on its thread`() async throws {
    #expect(Witness.isOnMain)
    let witness = Witness()
    let transport = ScriptedTransport { request, _ in
      witness.note("transport")
      return request.fields["Authorization"] == "Bearer old" ? .answer("who?", status: 401) : .answer("news")
    }
    let fixture = try ServiceFixture(transport: transport)
    var configuration = Session.Configuration()
    configuration.renew = { credential in
      witness.note("renew")
      return Credential(account: credential.account, token: "new")
    }
    let session = Session(
      service: fixture.service, credentials: Credentials(witness: witness), configuration: configuration)
    let plan = PreloadPlan([
      PreloadStep("feed", try request("feed")) { response in
        witness.note("decode")
        return response.value.count
      }
    ])
    for _ in 0..<2 {
      let flow = LaunchFlow(service: fixture.service, session: session) { _ in
        witness.note("block")
        return nil
      } plan: { _ in
        witness.note("plan")
        return plan
      }
      flow.start()
      for await root in flow.roots {
        if case .main = root { break }
      }
      flow.splashFaded()
      flow.stop()
    }
    let anticipation = fixture.service.anticipate(try request("story"), holdFor: .seconds(3600)) { response in
      witness.note("decode ahead")
      return response.value.count
    }
    for await _ in anticipation.commit() {}
    try await session.signOut()
    #expect(
      witness.parts == [
        "block", "decode", "decode ahead", "plan", "read credential", "remove credential", "renew",
        "save credential", "transport",
      ])
    #expect(witness.onMain == [])
  }

  @MainActor @Test func `what is awaited on the main actor is looked up and decoded elsewhere`() async throws
  {
    #expect(Witness.isOnMain)
    let witness = Witness()
    let fixture = try ServiceFixture(transport: ScriptedTransport { _, _ in .answer("news") })
    let (service, story) = (fixture.service, try request("story"))
    _ = try await service.response(for: story) { _ in witness.note("fresh response") }
    // A stored response is decoded on the thread that has looked it up.
    _ = try await service.response(for: story, policy: .storedOnly) { _ in witness.note("stored response") }
    for await _ in service.deliveries(
      for: story, policy: .storedOnly, decode: { _ in witness.note("deliveries") })
    {}
    for await _ in service.live(story, decode: { _ in witness.note("live") }) { break }
    let body = DataService.BodyStream(length: nil) { () async throws(DataServiceError) -> Data? in
      witness.note("body")
      return nil
    }
    for try await _ in body {}
    #expect(try await body.next() == nil)
    #expect(witness.parts == ["body", "deliveries", "fresh response", "live", "stored response"])
    #expect(witness.onMain == [])
  }

  @MainActor @Test
  func `a plan of ten thousand steps, cancelled on the main actor, is begun and cancelled elsewhere`()
    async throws
  {
    #expect(Witness.isOnMain)
    let witness = Witness()
    let asked = Gate()
    let never = Gate()
    let transport = ScriptedTransport { _, _ async throws(DataServiceError) in
      witness.note("transport")
      asked.open()
      await never.wait()
      throw DataServiceError(.cancelled, "cancelled")
    }
    let fixture = try ServiceFixture(transport: transport)
    let source = Watched(service: fixture.service, witness: witness)
    let steps = try (0..<10_000).map { PreloadStep("\($0)", try request("\($0)")) }
    let run = PreloadRun(PreloadPlan(steps), on: source)
    await asked.wait()
    run.cancel()
    #expect(await run.outcome()?.verdict == .quit)
    await run.finished()
    #expect(witness.parts == ["cancel", "load", "transport"])
    #expect(witness.onMain == [])
  }

  /// Notes where loads are begun and cancelled.
  private struct Watched: DeliverySource {
    let service: DataService
    let witness: Witness

    func begin<Value: Sendable>(_ load: DataService.PendingLoad<Value>) -> DataService.Load {
      witness.note("load")
      return load.begin { [self] deliver in
        await withTaskCancellationHandler {
          for await delivery in load.deliveries(from: service, for: load.request, policy: load.policy) {
            deliver(delivery)
          }
        } onCancel: {
          witness.note("cancel")
        }
      }
    }
  }
}
