import Testing
import TestTurns

@testable import DataService

@Suite("The order of one load under http", .inTurn) struct LoadMachineHTTPTests {
  typealias Event = LoadMachine.Event
  typealias Effect = LoadMachine.Effect

  private func effects(_ events: [Event], isOnlyIfCached: Bool = false) -> [Effect] {
    var machine = LoadMachine(policy: .http, isOnlyIfCached: isOnlyIfCached)
    return events.flatMap { machine.handle($0) }
  }

  private func judged(_ action: HTTPReuse.Action) -> Event { .storeAnswered(.judged(action, hasRow: true)) }

  @Test func `what is reused is one stored delivery, without an exchange`() {
    #expect(effects([judged(.reuse), .storedPrepared(true)]) == [.prepareStored, .deliverStored, .end])
  }

  @Test func `what cannot be read after all is fetched`() {
    #expect(
      effects([judged(.reuse), .storedPrepared(false), .exchangeFinished(isFresh: true)])
        == [.prepareStored, .startExchange, .deliverFresh, .end])
  }

  @Test func `what is validated is one fresh delivery, or a failure`() {
    let begun: [Event] = [judged(.validate), .storedPrepared(true)]
    #expect(
      effects(begun + [.exchangeFinished(isFresh: true)]) == [
        .startExchange, .prepareStored, .deliverFresh, .end,
      ])
    #expect(
      effects(begun + [.exchangeFinished(isFresh: false)])
        == [.startExchange, .prepareStored, .deliverFailure, .end])
  }

  @Test func `what stands in for an answer is a stored delivery, followed by the reason`() {
    for action in [HTTPReuse.Action.validate, .fetch] {
      #expect(
        effects([judged(action), .storedPrepared(true), .staleWillDo, .exchangeFinished(isFresh: false)])
          == [.startExchange, .prepareStored, .deliverStored, .deliverFailure, .end], "\(action)")
    }
  }

  @Test func `what needs no answer is one stored delivery, though an exchange that began has failed`() {
    for action in [HTTPReuse.Action.reuse, .reuseWhileRevalidating] {
      #expect(
        effects([
          .storeIsSlow, .exchangeFinished(isFresh: false), judged(action), .staleWillDo,
          .storedPrepared(true),
        ]) == [.startExchange, .boundStoreWait, .prepareStored, .deliverStored, .end], "\(action)")
    }
  }

  @Test func `it stands in also where the store answers after the origin`() {
    let late: [Event] = [judged(.validate), .staleWillDo, .storedPrepared(true)]
    for isFresh in [true, false] {
      #expect(
        effects([.storeIsSlow, .exchangeFinished(isFresh: isFresh)] + late)
          == [.startExchange, .boundStoreWait, .prepareStored, .deliverStored, .deliverFailure, .end],
        "\(isFresh)")
    }
  }

  @Test func `what is served while it is revalidated ends the load after the refresh, fresh or failed`() {
    for isFresh in [true, false] {
      #expect(
        effects([judged(.reuseWhileRevalidating), .storedPrepared(true)])
          == [.startExchange, .prepareStored, .deliverStored], "\(isFresh)")
      #expect(
        effects([
          judged(.reuseWhileRevalidating), .storedPrepared(true), .exchangeFinished(isFresh: isFresh),
        ]) == [.startExchange, .prepareStored, .deliverStored, .end], "\(isFresh)")
    }
  }

  @Test func `a refresh quicker than the stored value does not take its place`() {
    #expect(
      effects([judged(.reuseWhileRevalidating), .exchangeFinished(isFresh: true), .storedPrepared(true)])
        == [.startExchange, .prepareStored, .boundStoreWait, .deliverStored, .end])
  }

  @Test func `a fresh answer that came while the store was slow is delivered`() {
    #expect(
      effects([.storeIsSlow, .exchangeFinished(isFresh: true), judged(.reuse), .storedPrepared(true)])
        == [.startExchange, .boundStoreWait, .prepareStored, .deliverFresh, .end])
  }

  @Test func `nothing stored is fetched`() {
    let nothing = Event.storeAnswered(.judged(.fetch, hasRow: false))
    #expect(effects([nothing, .exchangeFinished(isFresh: true)]) == [.startExchange, .deliverFresh, .end])
  }

  @Test func `only-if-cached never makes an exchange`() {
    let stored: [Event] = [judged(.reuse), .storedPrepared(true)]
    #expect(effects(stored, isOnlyIfCached: true) == [.prepareStored, .deliverStored, .end])
    #expect(
      effects([judged(.gatewayTimeout), .storedPrepared(true)], isOnlyIfCached: true)
        == [.prepareStored, .deliverNotStored, .end])
    #expect(
      effects([judged(.reuse), .storedPrepared(false)], isOnlyIfCached: true)
        == [.prepareStored, .deliverNotStored, .end])
    for event in [Event.storeAnswered(.nothing), .storeAnswered(.judged(.gatewayTimeout, hasRow: false))] {
      #expect(effects([event], isOnlyIfCached: true) == [.deliverNotStored, .end], "\(event)")
    }
  }
}
