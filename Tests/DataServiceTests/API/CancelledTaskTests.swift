import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import TestSupport
import Testing
import TestTurns

/// Law 11 where a task is cancelled, as a view does with its own when it disappears.
@Suite("A task that is cancelled", .inTurn) struct CancelledTaskTests {
  private let url = "http://origin.test/item"

  /// A service with a stored response whose origin answers the second time only when it may.
  private func fixture(_ mayAnswer: Gate = Gate()) async throws -> (
    ServiceFixture, ScriptedTransport, DataService.Request
  ) {
    let transport = ScriptedTransport { _, number async throws(DataServiceError) in
      if number > 1 { await mayAnswer.wait() }
      return .answer("body \(number)")
    }
    let fixture = try ServiceFixture(transport: transport)
    let url = try #require(URL(string: url))
    _ = await fixture.outline(url)
    return (fixture, transport, .init(url))
  }

  @Test func `before the first delivery gets none, and asks nobody`() async throws {
    let (fixture, transport, request) = try await fixture()
    let mayBegin = Gate()
    let task = Task {
      await mayBegin.wait()
      var seen: [String] = []
      for await delivery in fixture.service.deliveries(for: request) { seen.append(delivery.outline) }
      return seen
    }
    task.cancel()
    mayBegin.open()
    #expect(await task.value == [])
    #expect(transport.requests.count == 1)
    await fixture.service.close()
  }

  @Test func `between two deliveries gets no other, though it has come`() async throws {
    let mayAnswer = Gate()
    let (fixture, _, request) = try await fixture(mayAnswer)
    let hasBegun = Gate()
    let hasFresh = Gate()
    let mayGoOn = Gate()
    let task = Task {
      var seen: [String] = []
      for await delivery in fixture.service.deliveries(for: request) {
        seen.append(delivery.outline)
        hasBegun.open()
        await mayGoOn.wait()
      }
      return seen
    }
    await hasBegun.wait()
    // Whoever shares the exchange hears of the answer after the first load, whose delivery is ready to be taken then.
    let other = fixture.service.start(
      request, policy: .storedThenFresh,
      deliver: { delivery in if case .fresh = delivery { hasFresh.open() } }, ended: {})
    await fixture.traced("joining")
    mayAnswer.open()
    await hasFresh.wait()
    task.cancel()
    mayGoOn.open()
    #expect(await task.value == ["stored(body 1)"])
    await other.finished()
    await fixture.service.close()
  }

  @Test(
    "gets no response from the one-shot form, and asks nobody",
    arguments: [.storedOnly, .storedThenFresh, .freshOnly, .freshElseStored(within: nil)] as [FetchPolicy])
  func oneShot(policy: FetchPolicy) async throws {
    let (fixture, transport, request) = try await fixture()
    let mayBegin = Gate()
    let task = Task { () -> DataServiceError? in
      await mayBegin.wait()
      do throws(DataServiceError) {
        _ = try await fixture.service.response(for: request, policy: policy)
        return nil
      } catch {
        return error
      }
    }
    task.cancel()
    mayBegin.open()
    let error = await task.value
    #expect(error?.kind == .cancelled)
    #expect(error?.underlying is CancellationError)
    #expect(transport.requests.count == 1)
    await fixture.service.close()
  }

  @Test func `while the origin is asked, the one-shot form throws rather than return what is stored`()
    async throws
  {
    let asked = Gate()
    let fixture = try ServiceFixture.scripted { _, number async throws(DataServiceError) in
      if number > 1 {
        asked.open()
        await Gate().wait()
        throw DataServiceError(.cancelled, "cancelled")
      }
      return .answer("body")
    }
    let request = DataService.Request(try #require(URL(string: url)))
    _ = try await fixture.service.response(for: request, policy: .freshOnly)
    let task = Task { () -> DataServiceError? in
      do throws(DataServiceError) {
        _ = try await fixture.service.response(for: request, policy: .storedThenFresh)
        return nil
      } catch {
        return error
      }
    }
    await asked.wait()
    task.cancel()
    #expect(await task.value?.kind == .cancelled)
    await fixture.service.close()
  }
}
