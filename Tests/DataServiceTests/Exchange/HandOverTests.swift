import CacheStore
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("A hand-over: another process makes the exchange", .inTurn) struct HandOverTests {
  /// A service that hands its exchanges over to what a test says, and asks the origin where that says nothing.
  private func fixture(
    on store: TemporaryStore? = nil, _ handOver: @escaping @Sendable (Int) async -> DataService.HandedOver?
  ) throws -> ServiceFixture {
    let count = Mutex(0)
    let transport = ScriptedTransport { _, number in .answer("own \(number)") }
    return try ServiceFixture(store: store ?? TemporaryStore(), transport: transport) {
      $0.handOver = { _ in
        let number = count.withLock { count in
          count += 1
          return count
        }
        return await handOver(number)
      }
    }
  }

  private func item() throws -> URL { try #require(URL(string: "http://origin.test/item")) }

  @Test func `where nobody takes it, the service asks by itself`() async throws {
    let fixture = try fixture { _ in nil }
    #expect(await fixture.outline(try item()) == ["fresh(own 1, new)"])
    #expect(fixture.requests.count == 1)
  }

  @Test func `law 7: what the other process has stored is the answer, and the origin is not asked`()
    async throws
  {
    let shared = try TemporaryStore()
    let other = try ServiceFixture(
      store: shared, transport: ScriptedTransport { _, number in .answer("other \(number)") })
    let url = try item()
    #expect(await other.outline(url) == ["fresh(other 1, new)"])
    let fixture = try fixture(on: shared) { _ in
      _ = await other.outline(url)
      return .stored(wasValidated: false)
    }
    #expect(await fixture.outline(url) == ["stored(other 1)", "fresh(other 2, changed)"])
    #expect(fixture.requests.isEmpty)
  }

  @Test func `where what is said to be stored is not there, the service asks by itself`() async throws {
    let fixture = try fixture { _ in .stored(wasValidated: true) }
    #expect(await fixture.outline(try item()) == ["fresh(own 1, new)"])
    #expect(await fixture.outline(try item()) == ["stored(own 1)", "fresh(own 2, changed)"])
  }

  @Test func `what may not be stored is delivered as it came`() async throws {
    let fixture = try fixture { _ in
      .unkept(
        status: 200, fields: ["X-A": "b"], url: "http://origin.test/item", body: Data("private".utf8),
        .noStore)
    }
    #expect(await fixture.outline(try item()) == ["fresh(private, new)"])
    #expect(fixture.requests.isEmpty)
    let kept = try await fixture.service.response(for: .init(try item()), policy: .freshOnly).kept
    #expect(kept == .no(.noStore))
  }

  @Test func `law 5: a failure, and a status that is one, leave what is stored`() async throws {
    let fixture = try fixture { number in
      switch number {
      case 1: nil
      case 2: .failure(.init(.refused, "refused"))
      default:
        .unkept(status: 503, fields: [:], url: "http://origin.test/item", body: Data("busy".utf8), .status)
      }
    }
    let url = try item()
    #expect(await fixture.outline(url) == ["fresh(own 1, new)"])
    for kind in ["refused", "status"] {
      let said = await fixture.outline(url)
      #expect(said.first == "stored(own 1)" && said.count == 2)
      #expect(said.last?.contains("failure(\(kind)") == true, "\(said)")
    }
  }

  @Test func `under http, and what may change something, is not handed over`() async throws {
    let asked = Mutex(0)
    let fixture = try fixture { _ in
      asked.withLock { $0 += 1 }
      return nil
    }
    var request = DataService.Request(try item(), method: .post, body: Data("x".utf8))
    _ = try await fixture.service.response(for: request, policy: .freshOnly)
    request = .init(try item())
    _ = try await fixture.service.response(for: request, policy: .http)
    #expect(asked.withLock { $0 } == 0)
    _ = try await fixture.service.response(for: request, policy: .freshOnly)
    #expect(asked.withLock { $0 } == 1)
  }

  @Test func `law 11: a load that is cancelled ends the hand-over`() async throws {
    let (isAsked, isCancelled) = (Gate(), Gate())
    let fixture = try fixture { _ in
      isAsked.open()
      await withTaskCancellationHandler {
        await isCancelled.wait()
      } onCancel: {
        isCancelled.open()
      }
      return nil
    }
    let load = fixture.service.start(
      .init(try item()), policy: .storedThenFresh, deliver: { _ in Issue.record("a delivery") }, ended: {})
    await isAsked.wait()
    load.cancel()
    await isCancelled.wait()
    await load.finished()
    #expect(fixture.requests.isEmpty)
  }
}
