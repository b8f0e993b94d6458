import CacheStore
import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import TestSupport
import TestTurns
import Testing

@Suite("What a program stores can be taken back, and can bring its validators", .inTurn)
struct ProvisionalChangeTests {
  private static let address = "https://api.example.com/feed"

  private func feed() throws -> DataService.Request { .init(try #require(URL(string: Self.address))) }

  private func stored(_ service: DataService, _ request: DataService.Request) async -> String? {
    let response = try? await service.response(for: request, policy: .storedOnly)
    return response.map { String(decoding: $0.value, as: UTF8.self) + ($0.isLocal ? " (local)" : "") }
  }

  @Test(
    "undone, the old response is there again with its validators, however long",
    arguments: [3, 300_000, 900_000])
  func undone(length: Int) async throws {
    let test = try TestService()
    let (service, request) = (test.service, try feed())
    let old = String(repeating: "o", count: length)
    test.origin.answer(
      Self.address, with: .text(old, fields: ["ETag": "\"1\"", "Cache-Control": "max-age=60"]))
    _ = try await service.response(for: request)
    let before = try #require(try await service.entries().first)
    test.clock.advance(by: .seconds(1))
    let change = try await service.storeProvisionally(Data("new".utf8), for: request)
    #expect(change.kept == .yes)
    #expect(await stored(service, request) == "new (local)")
    test.clock.advance(by: .seconds(1))
    #expect(try await change.undo())
    #expect(await stored(service, request) == old)
    var after = try #require(try await service.entries().first)
    after.response.body = before.response.body
    #expect(after.response == before.response && after.isSound)
    #expect(try await change.undo() == false)
    #expect(try await service.response(for: request).wasValidated && test.origin.requests.count == 2)
    await test.close()
  }

  @Test func `where nothing was stored nothing is again, and an exchange that began before may store`()
    async throws
  {
    let mayAnswer = Gate()
    let fixture = try ServiceFixture.scripted { _, _ async throws(DataServiceError) in
      await mayAnswer.wait()
      return .answer("fresh")
    }
    let (service, request) = (fixture.service, try feed())
    async let fresh = service.response(for: request, policy: .freshOnly)
    await fixture.traced("request to")
    let change = try await service.storeProvisionally(Data("new".utf8), for: request)
    #expect(try await change.undo())
    #expect(try await service.entries().isEmpty)
    mayAnswer.open()
    #expect(try await fresh.kept == .yes)
    #expect(await stored(service, request) == "fresh")
    #expect(try await change.undo() == false)
    await fixture.service.close()
  }

  @Test(
    "what others have stored or removed meanwhile stays so",
    arguments: ["fresh", "store", "remove", "signOut"])
  func meanwhile(what: String) async throws {
    let clock = VirtualClock()
    let fixture = try ServiceFixture(
      transport: ScriptedTransport { _, _ in .answer("fresh") }, timekeeper: clock)
    let other = try ServiceFixture(
      store: fixture.store, transport: ScriptedTransport { _, _ in .answer("fresh") }, timekeeper: clock)
    var request = try feed()
    request.account = .named("ada")
    try await fixture.service.store(Data("old".utf8), for: request)
    clock.advance(by: .seconds(1))
    let change = try await fixture.service.storeProvisionally(Data("new".utf8), for: request)
    clock.advance(by: .seconds(1))
    switch what {
    case "fresh": _ = try await other.service.response(for: request, policy: .freshOnly)
    case "store": try await other.service.store(Data("new".utf8), for: request)
    case "remove": try await other.service.remove(.all)
    default: try await other.service.signOut(.named("ada"))
    }
    let before = await stored(other.service, request)
    let isUndone = try? await change.undo()
    #expect(isUndone != true)
    #expect(await stored(other.service, request) == before)
    await other.service.close()
    await fixture.service.close()
  }

  @Test func `several are taken back, the last one first, and a live screen shows each`() async throws {
    let fixture = try ServiceFixture.scripted { _, _ in .answer("1") }
    let (service, request) = (fixture.service, try feed())
    _ = try await service.response(for: request)
    var changes: [DataService.ProvisionalChange] = []
    var seen: [Int] = []
    for await delivery in service.live(request, as: Int.self, policy: .storedOnly) {
      seen.append(delivery.value ?? 0)
      switch seen.count {
      case 1, 2:
        changes.append(try await service.storeProvisionally(Data("\(seen.count + 1)".utf8), for: request))
      case 3:
        #expect(try await changes[0].undo() == false)
        #expect(try await changes[1].undo())
      case 4: #expect(try await changes[0].undo())
      default: break
      }
      if seen.count == 5 { break }
    }
    #expect(seen == [1, 2, 3, 2, 1])
    await service.close()
  }

  @Test func `marked invalid meanwhile, what is put back is stale`() async throws {
    let test = try TestService()
    let (service, request) = (test.service, try feed())
    test.origin.answer(Self.address, with: .text("old", fields: ["Cache-Control": "max-age=60"]))
    _ = try await service.response(for: request)
    let change = try await service.storeProvisionally(Data("new".utf8), for: request)
    #expect(try await service.invalidate(.all) == 1)
    #expect(try await change.undo())
    #expect(try await service.response(for: request, policy: .storedOnly).isStale)
    await test.close()
  }

  @Test(
    "what is moved here with its validators is confirmed, what is not is fetched", arguments: [true, false])
  func moved(isFromOrigin: Bool) async throws {
    let test = try TestService()
    let (service, request) = (test.service, try feed())
    let body = Data("moved".utf8)
    let fields: HTTPFields = [
      "ETag": "\"1\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Content-Type": "a/b",
    ]
    test.origin.answer(Self.address, with: .data(body, fields: fields))
    try await service.store(body, for: request, fields: fields, isFromOrigin: isFromOrigin)
    #expect(try await service.response(for: request, policy: .storedOnly).isLocal)
    let fresh = try await service.response(for: request)
    #expect(fresh.wasValidated == isFromOrigin && !fresh.isLocal && fresh.value == body)
    #expect(test.origin.requests.first?.fields["If-None-Match"] == (isFromOrigin ? "\"1\"" : nil))
    #expect(await stored(service, request) == "moved")
    await test.close()
  }
}
