import CacheStore
import DataService
import RedisTier
import Synchronization
import TestSupport
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: a tier that is read at its first use", .inTurn) struct DeferredTierTests {
  private static let question = TierQuestion(target: "http://a.example/x", responder: "http://a.example")

  private func silence(of tier: DeferredTier) async -> String? {
    let reply = await tier.ask(Self.question)
    guard case .silent(let reason) = reply else { return nil }
    return reason
  }

  @Test func `what it is told reaches its engine, and so does its end`() async {
    let fleet = FakeTier()
    let tier = DeferredTier(source: "--tier") { fleet.engine() }
    #expect(await silence(of: tier) == "nobody has attached it")
    await tier.pause(5_000, Self.question)
    #expect(fleet.pauses == ["http://a.example": 5_000])
    let isInvalidated = await tier.invalidate(Self.question)
    let isSignedOut = await tier.signOut("ci")
    #expect(isInvalidated && fleet.invalidated.count == 1)
    #expect(isSignedOut && fleet.signedOut == ["ci"])
    tier.close()
    #expect(await silence(of: tier) == "closed")
  }

  @Test func `what the service gives it reaches its engine, and a wrong URL is warned of`() async {
    let (fleet, ears) = (FakeTier(), Ears())
    let tier = DeferredTier(source: "--tier") { fleet.engine() }
    tier.attach(to: ears.host())
    #expect(fleet.hosts == 1 && ears.warnings.isEmpty)
    #expect(await silence(of: tier) == nil)
    let wrong = DeferredTier(source: "--tier") { () throws(DataServiceError) in
      throw DataServiceError(.offline, "it has no key", hint: "name one")
    }
    wrong.attach(to: ears.host())
    #expect(ears.warnings.map(\.message) == ["no second tier: --tier: it has no key"])
    #expect(ears.warnings.first?.hint == "name one")
  }

  @Test func `one whose URL is wrong is silent, and says why`() async {
    let tier = DeferredTier(source: "$CACHEFETCH_TIER") { () throws(DataServiceError) in
      throw DataServiceError(.offline, "it has no key", hint: "name one")
    }
    #expect(await silence(of: tier) == "it has no key")
    #expect(!tier.terms.isKnown)
    let isInvalidated = await tier.invalidate(Self.question)
    let isSignedOut = await tier.signOut("ci")
    #expect(!isInvalidated && !isSignedOut)
    let found = await tier.examine()
    #expect(
      found == [
        StoreFinding("$CACHEFETCH_TIER", .wrong, "it has no key; name one")
      ])
    tier.close()
  }
}

/// Hears what a tier warns of, and has no mark.
private final class Ears: TierSilenceMark {
  private let heard = Mutex<[DataService.Warning]>([])

  /// The warnings so far.
  var warnings: [DataService.Warning] { heard.withLock { $0 } }

  func read() -> Int64 { 0 }
  func write(_ value: Int64) {}

  /// A host that tells them.
  func host() -> TierHost {
    TierHost(
      timekeeper: SystemTimekeeper(), silence: self, trace: { _ in },
      warn: { [self] warning in heard.withLock { $0.append(warning) } })
  }
}
