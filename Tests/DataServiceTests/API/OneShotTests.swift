import DataService
import DataServiceTesting
import FixtureServer
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// What the one-shot form returns and throws.
@Suite("One response", .inTurn) struct OneShotTests {
  private let url = "http://origin.test/item"

  /// A first answer, then only refusals.
  private func offline(_ status: Int = 200) throws -> ServiceFixture {
    let transport = ScriptedTransport { _, number throws(DataServiceError) in
      if number > 1 { throw DataServiceError(.refused, "refused") }
      return .answer("body", status: status)
    }
    return try ServiceFixture(transport: transport)
  }

  private func request(_ retries: Int = 0) throws -> DataService.Request {
    var request = DataService.Request(try #require(URL(string: url)))
    request.limits.retries = retries
    return request
  }

  @Test func `fresh only: a failure is thrown, whatever is stored`() async throws {
    let fixture = try offline()
    let request = try request()
    _ = try await fixture.service.response(for: request, policy: .freshOnly)
    let error = await #expect(throws: DataServiceError.self) {
      _ = try await fixture.service.response(for: request, policy: .freshOnly)
    }
    #expect(error?.kind == .refused)
    await fixture.service.close()
  }

  @Test(
    "policies that fall back return the stored response they fell back on",
    arguments: [
      .freshElseStored(within: nil), .storedThenFresh, .storedElseFresh(maxAge: .zero), .storedOnly,
    ] as [FetchPolicy])
  func fallsBack(policy: FetchPolicy) async throws {
    let fixture = try offline()
    let request = try request()
    _ = try await fixture.service.response(for: request, policy: .freshOnly)
    #expect(try await fixture.service.response(for: request, policy: policy).text == "body")
    await fixture.service.close()
  }

  @Test(
    "with nothing stored a failure is thrown under every policy",
    arguments: [
      .freshElseStored(within: nil), .freshElseStored(), .storedThenFresh,
      .storedThenFresh(ifOlderThan: .seconds(1)), .storedElseFresh(maxAge: .seconds(1)), .freshOnly, .http,
    ] as [FetchPolicy],
    [.refused, .dns, .tls("handshake"), .timeout(.firstByte), .protocol] as [DataServiceError.Kind])
  func nothingStored(policy: FetchPolicy, kind: DataServiceError.Kind) async throws {
    let fixture = try ServiceFixture.scripted { _, _ throws(DataServiceError) in
      throw DataServiceError(kind, "failed")
    }
    let request = try request()
    let error = await #expect(throws: DataServiceError.self) {
      _ = try await fixture.service.response(for: request, policy: policy)
    }
    #expect(error?.kind == kind)
    await fixture.service.close()
  }

  @Test func `the default gives the origin three seconds, then returns the stored response`()
    async throws
  {
    let clock = VirtualClock()
    let mayAnswer = Gate()
    let fixture = try ServiceFixture.scripted(timekeeper: clock) { _, number async throws(DataServiceError) in
      if number > 1 { await mayAnswer.wait() }
      return .answer("body \(number)")
    }
    let request = try request()
    _ = try await fixture.service.response(for: request, policy: .freshOnly)
    let (response, passed) = try await clock.passing(longest: .seconds(60)) {
      try await fixture.service.response(for: request)
    }
    #expect(response.text == "body 1")
    #expect(passed >= .seconds(3) && passed < .seconds(4), "\(passed)")
    mayAnswer.open()
    await fixture.service.close()
  }

  @Test func `with nothing stored the default waits for the origin`() async throws {
    let clock = VirtualClock()
    let fixture = try ServiceFixture.scripted(timekeeper: clock) { _, _ async throws(DataServiceError) in
      try await asCancelled { try await clock.sleep(for: .seconds(20)) }
      return .answer("late")
    }
    let request = try request()
    let (response, passed) = try await clock.passing(longest: .seconds(60)) {
      try await fixture.service.response(for: request)
    }
    #expect(response.text == "late")
    #expect(passed >= .seconds(20))
  }
}

/// The body; whatever it throws becomes `cancelled`.
private func asCancelled(_ body: () async throws -> Void) async throws(DataServiceError) {
  do { try await body() } catch { throw DataServiceError(.cancelled, "cancelled") }
}
