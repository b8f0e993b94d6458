internal import DataService
internal import Guards
internal import PlatformFoundation

/// One load for a session's account: with the account's token, and with a renewed one where the origin refuses it.
struct SessionLoad<Value: Sendable> {
  let session: Session
  let load: DataService.PendingLoad<Value>
  let deliver: @Sendable (DataService.Delivery<Value>) -> Void

  private var request: DataService.Request { load.request }
  private var policy: FetchPolicy { load.policy }

  /// - Parameter source: Whose load it has to be; `nil` takes whoever is signed in.
  func run(for source: AccountSource? = nil) async {
    let clock = session.configuration.clock
    let began = clock.now()
    await launched()
    // A caller that has cancelled is told nothing (law 11).
    guard !Task.isCancelled else { return }
    guard let first = session.passOfAccount else {
      return deliver(.failure(Session.signedOut, lastKnown: nil))
    }
    if let source, !source.admits(first) { return deliver(.failure(Session.signedOut, lastKnown: nil)) }
    let relay = Relay(session: session, pass: first, deliver: deliver)
    if policy == .storedOnly || !mustBeRenewed(first) {
      for await delivery in deliveries(by: first, policy) {
        relay.passUnlessRefused(delivery)
      }
      guard relay.wasRefused else { return }
    }
    var isStored = relay.shown != nil
    // What is stored does not wait for the renewal.
    if !isStored, policy.fallsBack, let response = await stored(first) {
      isStored = true
      let isEnough = response.head.satisfies(policy)
      if isEnough || policy.showsStoredFirst { relay.hand(.stored(response)) }
      if isEnough { return }
    }
    let (limit, late) = patience(isStored: isStored)
    switch await session.renewed(first, within: limit - (clock.now() - began), orElse: late) {
    case .failure(let error):
      var lastKnown = relay.shown
      if lastKnown == nil, session.isCurrent(first) { lastKnown = await stored(first) }
      if relay.shown == nil, policy.fallsBack, let lastKnown { relay.hand(.stored(lastKnown)) }
      relay.hand(.failure(error, lastKnown: lastKnown))
    case .success(let second):
      // What is stored is not delivered twice.
      let again = policy.showsStoredFirst || relay.shown != nil ? policy.again(ifOlderThan: nil) : policy
      for await delivery in deliveries(by: second, again) {
        if session.configuration.isRefused(delivery) { session.refusedAgain(second) }
        relay.hand(delivery)
      }
    }
  }

  private func deliveries(by pass: Session.Pass, _ policy: FetchPolicy) -> DataService.Deliveries<Value> {
    load.deliveries(from: session.service, for: session.authorized(request, by: pass), policy: policy)
  }

  /// What is stored for the account, if the caller's decoder takes it.
  private func stored(_ pass: Session.Pass) async -> DataService.Response<Value>? {
    for await delivery in deliveries(by: pass, .storedOnly) {
      if case .stored(let response) = delivery { return response }
    }
    return nil
  }

  /// How long after its begin the load ends although the token is still being renewed, and what it fails with then.
  private func patience(isStored: Bool) -> (Duration, DataServiceError) {
    let total = request.limits.totalTimeout
    let deadline = policy.deadline(isStored: isStored) ?? total
    let kind = DataServiceError.Kind.timeout(deadline < total ? .deadline : .total)
    return (min(deadline, total), DataServiceError(kind, "the token is still being renewed"))
  }

  /// Waits until the session knows whether an account is signed in, or the task is cancelled.
  private func launched() async {
    guard session.current == .launching else { return }
    for await phase in session.phases where phase != .launching { return }
  }

  /// Whether the pass must be renewed before a request is sent with it, or cannot be any more.
  private func mustBeRenewed(_ pass: Session.Pass) -> Bool {
    if pass.isExpired || pass.isBeingRenewed { return true }
    guard !pass.isWithinRenewal, session.configuration.renew != nil, let expiresAt = pass.credential.expiresAt
    else { return false }
    let (seconds, attoseconds) = session.configuration.expiryMargin.components
    let margin = Double(seconds) + Double(attoseconds) * 1e-18
    return expiresAt.timeIntervalSince(session.configuration.now()) <= margin
  }
}

extension Session.Configuration {
  /// Whether the origin has refused the token. The decoder may have refused the error page, so a failure can carry the
  /// status.
  fileprivate func isRefused<Value: Sendable>(_ delivery: DataService.Delivery<Value>) -> Bool {
    switch delivery {
    case .stored: false
    case .fresh(let response, _): expiredStatuses.contains(response.status)
    case .failure(let error, _): error.status.map(expiredStatuses.contains) ?? false
    }
  }
}

/// A session's loads for the account that was signed in at the first of them. Once that account is signed out or
/// replaced, each load fails with `signedOut`.
final class AccountSource: DeliverySource {
  private let session: Session
  /// The epoch of the first load.
  private let epoch = Guarded<UInt64?>(nil)

  init(session: Session) { self.session = session }

  /// Whether a load with the pass belongs to the account; the first decides which it is.
  fileprivate func admits(_ pass: Session.Pass) -> Bool {
    epoch.withLock { epoch in
      if epoch == nil { epoch = pass.epoch }
      return epoch == pass.epoch
    }
  }

  var hasEnded: Bool {
    guard let epoch = epoch.withLock({ $0 }) else { return false }
    return !session.isCurrent(epoch)
  }

  var service: DataService { session.service }

  func begin<Value: Sendable>(_ load: DataService.PendingLoad<Value>) -> DataService.Load {
    load.begin { [self] in await SessionLoad(session: session, load: load, deliver: $0).run(for: self) }
  }

  func requestAsSent(_ request: DataService.Request) -> DataService.Request? {
    session.pass.flatMap { admits($0) ? session.authorized(request, by: $0) : nil }
  }

  func requestAsStored(_ request: DataService.Request) -> DataService.Request? {
    session.passOfAccount.flatMap { admits($0) ? session.authorized(request, by: $0) : nil }
  }
}

/// Passes deliveries on while their account is signed in. After that it delivers one failure and drops the rest.
private final class Relay<Value: Sendable>: Sendable {
  private struct State {
    var isOver = false
    var wasRefused = false
    var shown: DataService.Response<Value>?
  }
  private let session: Session
  private let pass: Session.Pass
  private let deliver: @Sendable (DataService.Delivery<Value>) -> Void
  private let state = Guarded(State())

  init(
    session: Session, pass: Session.Pass, deliver: @escaping @Sendable (DataService.Delivery<Value>) -> Void
  ) {
    self.session = session
    self.pass = pass
    self.deliver = deliver
  }

  var wasRefused: Bool { state.withLock { $0.wasRefused } }

  /// The stored response that was delivered, if any.
  var shown: DataService.Response<Value>? { state.withLock { $0.shown } }

  func hand(_ delivery: DataService.Delivery<Value>) {
    // A renewal goes on for others, and ends after the load that waited for it was cancelled (law 11).
    guard !Task.isCancelled else { return }
    let isCurrent = session.isCurrent(pass)
    let isFirstLate = state.withLock { state in
      defer { if !isCurrent { state.isOver = true } }
      if case .stored(let response) = delivery { state.shown = response }
      return !isCurrent && !state.isOver
    }
    if isCurrent { return deliver(delivery) }
    if isFirstLate { deliver(.failure(Session.signedOut, lastKnown: nil)) }
  }

  func passUnlessRefused(_ delivery: DataService.Delivery<Value>) {
    guard session.configuration.isRefused(delivery), session.isCurrent(pass) else { return hand(delivery) }
    state.withLock { $0.wasRefused = true }
  }
}
