import TestSupport
import Testing
import TestTurns

@testable import DataService

@Suite("The order of one load, event by event", .inTurn) struct LoadMachineTests {
  typealias Event = LoadMachine.Event
  typealias Effect = LoadMachine.Effect

  private func effects(_ policy: FetchPolicy, _ events: [Event]) -> [Effect] {
    var machine = LoadMachine(policy: policy)
    return events.flatMap { machine.handle($0) }
  }

  @Test
  func `stored, then fresh: the exchange starts with the store's answer and before the stored delivery`() {
    let all = effects(
      .storedThenFresh,
      [.storeAnswered(.candidate(isYoung: true)), .storedPrepared(true), .exchangeFinished(isFresh: true)])
    #expect(all == [.startExchange, .prepareStored, .deliverStored, .deliverFresh, .end])
  }

  @Test func `nothing stored: one fresh`() {
    let all = effects(.storedThenFresh, [.storeAnswered(.nothing), .exchangeFinished(isFresh: true)])
    #expect(all == [.startExchange, .deliverFresh, .end])
  }

  @Test func `a slow store: the exchange starts without it, and the stored delivery still comes first`() {
    let all = effects(
      .storedThenFresh,
      [
        .storeIsSlow, .exchangeFinished(isFresh: true), .storeAnswered(.candidate(isYoung: true)),
        .storedPrepared(true),
      ])
    #expect(
      all == [.startExchange, .boundStoreWait, .prepareStored, .deliverStored, .deliverFresh, .end])
  }

  @Test func `a store too slow: fresh alone, and no stored delivery afterwards`() {
    let all = effects(
      .storedThenFresh,
      [
        .storeIsSlow, .exchangeFinished(isFresh: true), .storeIsTooLate,
        .storeAnswered(.candidate(isYoung: true)), .storedPrepared(true),
      ])
    #expect(all == [.startExchange, .boundStoreWait, .deliverFresh, .end])
  }

  @Test func `a stored body too slow to read: fresh alone, too`() {
    let all = effects(
      .storedThenFresh,
      [
        .storeAnswered(.candidate(isYoung: true)), .exchangeFinished(isFresh: true), .storeIsTooLate,
        .storedPrepared(true),
      ])
    #expect(all == [.startExchange, .prepareStored, .boundStoreWait, .deliverFresh, .end])
  }

  @Test func `stored only: no exchange, whatever is stored`() {
    #expect(
      effects(.storedOnly, [.storeIsSlow, .storeAnswered(.candidate(isYoung: false)), .storedPrepared(true)])
        == [.prepareStored, .deliverStored, .end])
    #expect(effects(.storedOnly, [.storeAnswered(.nothing)]) == [.deliverNotStored, .end])
  }

  @Test func `fresh only: the stored response is never delivered, and read only for a failure`() {
    let answered = Event.storeAnswered(.candidate(isYoung: true))
    #expect(
      effects(.freshOnly, [answered, .exchangeFinished(isFresh: true)])
        == [.startExchange, .deliverFresh, .end])
    let failed: [Effect] = [.startExchange, .boundStoreWait, .prepareStored, .deliverFailure, .end]
    #expect(
      effects(.freshOnly, [answered, .exchangeFinished(isFresh: false), .storedPrepared(true)]) == failed)
    #expect(
      effects(
        .freshOnly, [.storeIsSlow, .exchangeFinished(isFresh: false), answered, .storedPrepared(false)])
        == failed)
  }

  @Test func `fresh, else stored: the deadline brings stored and failure, and nothing follows`() {
    let answered: [Event] = [.storeAnswered(.candidate(isYoung: true)), .storedPrepared(true)]
    let policy = FetchPolicy.freshElseStored(within: .seconds(1))
    #expect(
      effects(policy, answered + [.deadlinePassed, .exchangeFinished(isFresh: true)])
        == [.startExchange, .prepareStored, .deliverStored, .deliverDeadline, .end])
    #expect(
      effects(policy, answered + [.exchangeFinished(isFresh: true)])
        == [.startExchange, .prepareStored, .deliverFresh, .end])
    #expect(
      effects(policy, answered + [.exchangeFinished(isFresh: false)])
        == [.startExchange, .prepareStored, .deliverStored, .deliverFailure, .end])
    #expect(
      effects(policy, [.storeAnswered(.nothing), .deadlinePassed]) == [
        .startExchange, .deliverDeadline, .end,
      ])
  }

  @Test func `fresh, else stored by default: the deadline ends only the wait of who has something stored`() {
    let policy = FetchPolicy.freshElseStored()
    let answered: [Event] = [.storeAnswered(.candidate(isYoung: true)), .storedPrepared(true)]
    #expect(
      effects(policy, answered + [.deadlinePassed, .exchangeFinished(isFresh: true)])
        == [.startExchange, .prepareStored, .deliverStored, .deliverDeadline, .end])
    #expect(
      effects(policy, [.storeAnswered(.nothing), .deadlinePassed, .exchangeFinished(isFresh: true)])
        == [.startExchange, .deliverFresh, .end])
    #expect(
      effects(policy, [.storeAnswered(.nothing), .deadlinePassed, .exchangeFinished(isFresh: false)])
        == [.startExchange, .deliverFailure, .end])
    #expect(
      effects(policy, [.storeIsSlow, .deadlinePassed] + answered)
        == [.startExchange, .prepareStored, .deliverStored, .deliverDeadline, .end])
  }

  @Test func `past the deadline a silent store is waited for a moment more, and then no longer`() {
    let answered: [Event] = [.storeAnswered(.candidate(isYoung: true)), .storedPrepared(true)]
    let policy = FetchPolicy.freshElseStored(within: .seconds(1))
    let late: [Event] = [.storeIsSlow, .deadlinePassed, .storeIsTooLate]
    #expect(effects(policy, late + answered) == [.startExchange, .boundStoreWait, .deliverDeadline, .end])
    #expect(
      effects(policy, [.storeIsSlow, .deadlinePassed] + answered + [.storeIsTooLate])
        == [.startExchange, .boundStoreWait, .prepareStored, .deliverStored, .deliverDeadline, .end])
    #expect(
      effects(policy, [.storeIsSlow, .deadlinePassed, .exchangeFinished(isFresh: true), .storeIsTooLate])
        == [.startExchange, .boundStoreWait, .boundStoreWait, .deliverFresh, .end])
    #expect(
      effects(policy, [answered[0], .deadlinePassed, .storeIsTooLate])
        == [.startExchange, .prepareStored, .boundStoreWait, .deliverDeadline, .end])
    #expect(
      effects(.freshElseStored(), late + answered)
        == [.startExchange, .prepareStored, .deliverStored, .deliverDeadline, .end])
  }

  @Test func `stored, else fresh: a young row is all there is; an old one stands in for a failure`() {
    let policy = FetchPolicy.storedElseFresh(maxAge: .seconds(300))
    #expect(
      effects(policy, [.storeAnswered(.candidate(isYoung: true)), .storedPrepared(true)])
        == [.prepareStored, .deliverStored, .end])
    let old: [Event] = [.storeAnswered(.candidate(isYoung: false)), .storedPrepared(true)]
    #expect(
      effects(policy, old + [.exchangeFinished(isFresh: true)])
        == [.startExchange, .prepareStored, .deliverFresh, .end])
    #expect(
      effects(policy, old + [.exchangeFinished(isFresh: false)])
        == [.startExchange, .prepareStored, .deliverStored, .deliverFailure, .end])
  }

  @Test
  func `stored, then fresh if older: a young row is all there is, unless the fresh one is there as well`() {
    let policy = FetchPolicy.storedThenFresh(ifOlderThan: .seconds(300))
    let young: [Event] = [.storeAnswered(.candidate(isYoung: true)), .storedPrepared(true)]
    #expect(effects(policy, young) == [.prepareStored, .deliverStored, .end])
    #expect(
      effects(policy, [.storeIsSlow] + young) == [.startExchange, .prepareStored, .deliverStored, .end])
    #expect(
      effects(policy, [.storeIsSlow, .exchangeFinished(isFresh: true)] + young)
        == [.startExchange, .boundStoreWait, .prepareStored, .deliverStored, .deliverFresh, .end])
    #expect(
      effects(policy, [.storeIsSlow, .exchangeFinished(isFresh: false)] + young)
        == [.startExchange, .boundStoreWait, .prepareStored, .deliverStored, .end])
    let old: [Event] = [.storeAnswered(.candidate(isYoung: false)), .storedPrepared(true)]
    #expect(
      effects(policy, old + [.exchangeFinished(isFresh: true)])
        == [.startExchange, .prepareStored, .deliverStored, .deliverFresh, .end])
    #expect(
      effects(policy, old + [.exchangeFinished(isFresh: false)])
        == [.startExchange, .prepareStored, .deliverStored, .deliverFailure, .end])
    let refused: [Event] = [.storeAnswered(.candidate(isYoung: true)), .storedPrepared(false)]
    #expect(
      effects(policy, refused + [.exchangeFinished(isFresh: true)])
        == [.prepareStored, .startExchange, .deliverFresh, .end])
  }

  @Test func `a row that turns out unusable is a miss under every policy`() {
    let events: [Event] = [.storeAnswered(.candidate(isYoung: true)), .storedPrepared(false)]
    #expect(effects(.storedOnly, events) == [.prepareStored, .deliverNotStored, .end])
    #expect(
      effects(.storedElseFresh(maxAge: .seconds(1)), events + [.exchangeFinished(isFresh: true)])
        == [.prepareStored, .startExchange, .deliverFresh, .end])
  }

  @Test func `the tier's row is the stored response where nothing is stored, and nothing where something is`()
  {
    let found = Event.served(.candidate(isYoung: true))
    #expect(
      effects(
        .storedThenFresh,
        [.storeAnswered(.nothing), found, .storedPrepared(true), found, .exchangeFinished(isFresh: true)])
        == [.startExchange, .prepareStored, .deliverStored, .deliverFresh, .end])
    let stored: [Event] = [.storeAnswered(.candidate(isYoung: true)), .storedPrepared(true)]
    #expect(
      effects(.storedThenFresh, stored + [found, .exchangeFinished(isFresh: true)])
        == [.startExchange, .prepareStored, .deliverStored, .deliverFresh, .end])
    // Before the store has answered, and once the exchange has, it is none.
    #expect(
      effects(.storedThenFresh, [.storeIsSlow, found] + stored)
        == [.startExchange, .prepareStored, .deliverStored])
    #expect(
      effects(.storedThenFresh, [.storeAnswered(.nothing), .exchangeFinished(isFresh: true), found])
        == [.startExchange, .deliverFresh, .end])
    #expect(effects(.freshOnly, [.storeAnswered(.nothing), found]) == [.startExchange])
    #expect(effects(.storedOnly, [.storeAnswered(.nothing), found]) == [.deliverNotStored, .end])
    // A stored response that turned out unusable leaves room for it.
    #expect(
      effects(
        .storedThenFresh,
        [.storeAnswered(.candidate(isYoung: true)), .storedPrepared(false), found, .storedPrepared(true)])
        == [.startExchange, .prepareStored, .prepareStored, .deliverStored])
  }

  @Test func `the tier's row ends what wants no more than a stored response, and is fallen back to`() {
    let young = Event.served(.candidate(isYoung: true))
    let old = Event.served(.candidate(isYoung: false))
    let policy = FetchPolicy.storedElseFresh(maxAge: .seconds(1))
    #expect(
      effects(policy, [.storeAnswered(.nothing), young, .storedPrepared(true)])
        == [.startExchange, .prepareStored, .deliverStored, .end])
    #expect(
      effects(
        policy, [.storeAnswered(.nothing), old, .storedPrepared(true), .exchangeFinished(isFresh: false)])
        == [.startExchange, .prepareStored, .deliverStored, .deliverFailure, .end])
    #expect(
      effects(
        .freshElseStored(within: .seconds(1)),
        [.storeAnswered(.nothing), young, .storedPrepared(true), .deadlinePassed])
        == [.startExchange, .prepareStored, .deliverStored, .deliverDeadline, .end])
    #expect(
      effects(
        .http,
        [
          .storeAnswered(.judged(.fetch, hasRow: false)), .served(.judged(.reuse, hasRow: true)),
          .storedPrepared(true),
        ]) == [.startExchange, .prepareStored, .deliverStored, .end])
    #expect(
      effects(
        .http,
        [
          .storeAnswered(.judged(.fetch, hasRow: false)), .served(.judged(.validate, hasRow: true)),
          .storedPrepared(true), .exchangeFinished(isFresh: true),
        ]) == [.startExchange, .prepareStored, .deliverFresh, .end])
  }

  @Test func `law 2: in order, once, whatever comes in whatever order`() {
    let policies: [FetchPolicy] = [
      .storedThenFresh, .storedOnly, .freshOnly, .freshElseStored(within: .seconds(1)), .freshElseStored(),
      .storedElseFresh(maxAge: .seconds(1)), .storedThenFresh(ifOlderThan: .seconds(1)),
    ]
    var random = SeededGenerator(seed: 20_261_121)
    let events: [Event] = [
      .storeAnswered(.nothing), .storeAnswered(.candidate(isYoung: true)),
      .storeAnswered(.candidate(isYoung: false)), .storedPrepared(true), .storedPrepared(false), .storeIsSlow,
      .storeIsTooLate, .exchangeFinished(isFresh: true), .exchangeFinished(isFresh: false), .deadlinePassed,
      .cancelled, .stopped, .served(.candidate(isYoung: true)),
      .served(.candidate(isYoung: false)),
      .served(.nothing),
    ]
    // Those that ask the origin whatever is stored.
    let asking: [FetchPolicy] = [
      .storedThenFresh, .freshOnly, .freshElseStored(within: .seconds(1)), .freshElseStored(),
    ]
    var ended = 0
    for _ in 0..<20_000 {
      let policy = policies.randomElement(using: &random) ?? .storedThenFresh
      let sequence = (0..<12).compactMap { _ in events.randomElement(using: &random) }
      let all = effects(policy, sequence)
      let stored = all.indices.filter { all[$0] == .deliverStored }
      let terminal = all.indices.filter { all[$0].isTerminalDelivery }
      #expect(stored.count <= 1 && terminal.count <= 1, "\(policy) \(sequence)")
      #expect(all.filter { $0 == .startExchange }.count <= 1, "\(policy) \(sequence)")
      if let first = stored.first, let last = terminal.first {
        #expect(first < last, "\(policy) \(sequence)")
      }
      if let end = all.firstIndex(of: .end) {
        #expect(end == all.count - 1, "\(policy) \(sequence)")
        // What was neither cancelled nor stopped says how it ends, which under some policies a stored response does.
        let wasEnded = sequence.contains { [.cancelled, .stopped].contains($0) }
        if !wasEnded {
          ended += 1
          let endsStored = !asking.contains(policy) && stored.count == 1 && all[end - 1] == .deliverStored
          #expect(terminal.count == 1 || endsStored, "\(policy) \(sequence) \(all)")
        }
      }
      if policy == .freshOnly { #expect(stored.isEmpty, "\(sequence)") }
      if policy == .storedOnly { #expect(!all.contains(.startExchange), "\(sequence)") }
    }
    #expect(ended > 1_000, "\(ended)")
  }
}

extension LoadMachine.Effect {
  fileprivate var isTerminalDelivery: Bool {
    [.deliverFresh, .deliverFailure, .deliverNotStored, .deliverDeadline].contains(self)
  }
}
