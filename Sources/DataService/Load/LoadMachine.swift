/// The state machine of one load: takes events and returns the next effects. Pure, so that the laws about order can
/// be tested without a store, a network or a clock.
///
/// The store and the exchange may answer in either order. This type alone decides what is delivered, when the
/// exchange starts and when the load is over (laws 1 to 4). A row of the fleet's second tier stands in for a stored
/// response where there is none.
struct LoadMachine: Sendable {
  /// An input of the machine.
  enum Event: Sendable, Equatable {
    /// The store has answered, with a candidate or with nothing usable.
    case storeAnswered(StoreAnswer)
    /// The candidate's value is ready (`true`) or has proved unusable (`false`).
    case storedPrepared(Bool)
    /// The tier had a row that the load can use, while the exchange is under way. It means something only where nothing
    /// is stored: then it is the stored response.
    case tierAnswered(StoreAnswer)
    /// 20 ms have passed without the store's answer.
    case storeIsSlow
    /// 250 ms have passed since the exchange finished, still without the store's answer.
    case storeIsTooLate
    /// The exchange has ended, with an answer that counts as fresh or with a failure.
    case exchangeFinished(isFresh: Bool)
    /// Under `http`: the exchange has failed or is about to, and the stored response may be served stale.
    case staleWillDo
    /// The deadline of `freshElseStored` has passed.
    case deadlinePassed
    /// The account was signed out or the service closed. The load ends with that failure, whatever else is known.
    case stopped
    /// The caller cancelled.
    case cancelled
  }

  /// The store's answer to the lookup.
  enum StoreAnswer: Sendable, Equatable {
    /// Nothing usable.
    case nothing
    /// A candidate; `isYoung` says whether the policy accepts its age without asking the origin.
    case candidate(isYoung: Bool)
    /// Under `http`: the decision of RFC 9111, with or without a row.
    case judged(HTTPReuse.Action, hasRow: Bool)
  }

  /// An output of the machine, to be carried out by ``LoadTask``.
  enum Effect: Sendable {
    /// Start the exchange; with the candidate's validators if there is a candidate.
    case startExchange
    /// Fetch the candidate's value, then report `storedPrepared`.
    case prepareStored
    /// Arm the 250 ms timer.
    case boundStoreWait
    /// Deliver the stored response.
    case deliverStored
    /// Deliver the exchange's answer.
    case deliverFresh
    /// Deliver the exchange's failure.
    case deliverFailure
    /// Deliver a failure because nothing is stored.
    case deliverNotStored
    /// Deliver a failure because the deadline has passed.
    case deliverDeadline
    /// The deliveries are over. The exchange continues only to fill the store.
    case end
  }

  private enum Store: Equatable {
    case pending
    /// There is a candidate whose value is needed only if the exchange fails.
    case held
    case preparing, ready, nothing
  }

  private enum Exchange: Equatable {
    case idle, running, fresh, failed
  }

  private let policy: FetchPolicy.Kind
  /// Whether an exchange is allowed at all: not under `storedOnly`, nor with `only-if-cached` under `http`.
  private let mayExchange: Bool
  private var store = Store.pending
  private var isYoung = false
  private var action = HTTPReuse.Action.fetch
  private var staleWillDo = false
  private var exchange = Exchange.idle
  private var deliveredStored = false
  private var isPastDeadline = false
  private(set) var hasEnded = false

  /// Whether the origin is or was to be asked for this load.
  var wantsExchange: Bool { exchange != .idle }

  /// Whether a row of the tier would be the stored response: nothing is stored, and the exchange is under way.
  var hasRoomForTier: Bool {
    !hasEnded && store == .nothing && exchange == .running && policy != .freshOnly && policy != .storedOnly
  }

  init(policy: FetchPolicy, isOnlyIfCached: Bool = false) {
    self.policy = policy.kind
    mayExchange = policy != .storedOnly && !isOnlyIfCached
  }

  /// Processes an event and returns the effects to carry out.
  mutating func handle(_ event: Event) -> [Effect] {
    guard !hasEnded else { return [] }
    var effects: [Effect] = []
    switch event {
    case .cancelled:
      return finish(with: [])
    case .stopped:
      return finish(with: [.deliverFailure])
    case .storeAnswered(.nothing):
      guard store == .pending else { return [] }
      store = .nothing
    case .storeAnswered(.candidate(let isYoung)):
      guard store == .pending else { return [] }
      self.isYoung = isYoung
      if policy == .freshOnly, exchange != .failed {
        store = .held
      } else {
        store = .preparing
        effects.append(.prepareStored)
      }
    case .storeAnswered(.judged(let action, let hasRow)):
      guard store == .pending else { return [] }
      store = hasRow ? .preparing : .nothing
      self.action = action
      if hasRow { effects.append(.prepareStored) }
    case .tierAnswered(let answer):
      // A stored response comes first and once (laws 1 and 2), so the tier's row never takes the place of one.
      guard hasRoomForTier else { return [] }
      switch answer {
      case .nothing, .judged(_, hasRow: false): return []
      case .candidate(let isYoung): self.isYoung = isYoung
      case .judged(let action, hasRow: true): self.action = action
      }
      store = .preparing
      effects.append(.prepareStored)
    case .storedPrepared(let isUsable):
      guard store == .preparing else { return [] }
      store = isUsable ? .ready : .nothing
    case .storeIsSlow:
      guard store == .pending else { return [] }
    case .storeIsTooLate:
      guard store == .pending || store == .preparing, exchange == .fresh || exchange == .failed else {
        return []
      }
      store = .nothing
    case .exchangeFinished(let isFresh):
      exchange = isFresh ? .fresh : .failed
      let isWanted = store == .held && !isFresh
      if isWanted { store = .preparing }
      if store == .pending || store == .preparing { effects.append(.boundStoreWait) }
      if isWanted { effects.append(.prepareStored) }
    case .staleWillDo:
      staleWillDo = true
      return []
    case .deadlinePassed:
      isPastDeadline = true
    }
    if exchange == .idle, shouldStartExchange(after: event) {
      exchange = .running
      effects.insert(.startExchange, at: 0)
    }
    effects += deliveries()
    return effects
  }

  private func shouldStartExchange(after event: Event) -> Bool {
    guard mayExchange else { return false }
    if case .storeIsSlow = event { return true }
    switch store {
    case .pending: return false
    case .nothing: return true
    case .held, .preparing, .ready:
      if mayDoWithStored { return !isYoung }
      return policy != .http || action != .reuse
    }
  }

  /// Whether the policy is satisfied by a stored response that is young enough.
  private var mayDoWithStored: Bool {
    switch policy {
    case .storedThenFresh(ifOlderThan: .some), .storedElseFresh: true
    case .storedThenFresh, .storedOnly, .freshOnly, .freshElseStored, .http: false
    }
  }

  private mutating func deliveries() -> [Effect] {
    let storeIsSettled = store == .ready || store == .nothing || store == .held
    switch policy {
    case .storedThenFresh:
      var effects: [Effect] = []
      if store == .ready, !deliveredStored {
        deliveredStored = true
        effects.append(.deliverStored)
      }
      // The exchange began because the store was slow. Its answer is not needed, unless it has already arrived.
      if mayDoWithStored, store == .ready, isYoung, exchange != .fresh { return finish(with: effects) }
      return storeIsSettled ? effects + terminal() : effects
    case .storedOnly:
      guard storeIsSettled else { return [] }
      return finish(with: [store == .ready ? .deliverStored : .deliverNotStored])
    case .freshOnly:
      return storeIsSettled ? terminal() : []
    case .http:
      return storeIsSettled ? httpDeliveries() : []
    case .freshElseStored(_, let endsAnyway):
      if exchange == .fresh { return storeIsSettled ? terminal() : [] }
      let isTooLate = isPastDeadline && (endsAnyway || store == .ready)
      guard storeIsSettled, exchange == .failed || isTooLate else { return [] }
      return fallBack(to: exchange == .failed ? .deliverFailure : .deliverDeadline)
    case .storedElseFresh:
      if store == .ready, isYoung { return finish(with: [.deliverStored]) }
      if exchange == .fresh { return storeIsSettled ? terminal() : [] }
      guard storeIsSettled, exchange == .failed else { return [] }
      return fallBack(to: .deliverFailure)
    }
  }

  /// The deliveries under `http`: one, or two if a stored response replaces the origin's answer, which is then
  /// followed by the reason. With `stale-while-revalidate`, the load ends only when the store has the refreshed
  /// response.
  private mutating func httpDeliveries() -> [Effect] {
    let isOver = exchange == .fresh || exchange == .failed
    if isOver, staleWillDo, store == .ready, action == .validate || action == .fetch {
      return finish(with: [.deliverStored, .deliverFailure])
    }
    // An answer that arrives first, because the store was slow, is delivered. An exchange behind a stale response
    // never delivers.
    if exchange == .fresh, action != .reuseWhileRevalidating { return terminal() }
    guard store == .ready, action != .gatewayTimeout else {
      return mayExchange ? terminal() : finish(with: [.deliverNotStored])
    }
    switch action {
    case .reuse:
      return finish(with: [.deliverStored])
    case .reuseWhileRevalidating:
      let effects: [Effect] = deliveredStored ? [] : [.deliverStored]
      deliveredStored = true
      return isOver ? finish(with: effects) : effects
    case .validate, .fetch, .gatewayTimeout:
      return terminal()
    }
  }

  private mutating func terminal() -> [Effect] {
    switch exchange {
    case .idle, .running: []
    case .fresh: finish(with: [.deliverFresh])
    case .failed: finish(with: [.deliverFailure])
    }
  }

  private mutating func fallBack(to failure: Effect) -> [Effect] {
    finish(with: store == .ready ? [.deliverStored, failure] : [failure])
  }

  private mutating func finish(with effects: [Effect]) -> [Effect] {
    hasEnded = true
    return effects + [.end]
  }
}
