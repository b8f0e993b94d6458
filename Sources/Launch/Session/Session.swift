internal import CacheStore
public import DataService
internal import Guards
public import PlatformFoundation

/// The signed-in account and the loads made for it.
///
/// As a ``DeliverySource`` it puts the account and its token on every request, renews an expired token once for all
/// requests that wait for it, and then repeats each of them once. All members may be called from any thread.
public final class Session: DeliverySource {
  private struct State {
    var machine: SessionMachine
    var phases = Broadcast<SessionPhase>(.launching)
    /// Those who wait for a renewal, by its number. They are told what it failed with, and end at once where the account
    /// does.
    var waiting: [UInt64: [AsyncStream<DataServiceError>.Continuation]] = [:]
    var signOut: Task<DataServiceError?, Never>?
    /// The credential is read from its store; the value is the sign-out that followed at once.
    var reading: Task<Task<DataServiceError?, Never>?, Never>?
    /// Whether the account that is being read is signed out as soon as it is known.
    var isSignOutWanted = false
    /// The last write to the credential store. Each write awaits the one before it, so that none undoes a later one.
    var lastWrite: Task<(any Error)?, Never>?
  }

  /// The service that performs its loads.
  public let service: DataService
  let configuration: Configuration
  private let credentials: any CredentialStore
  private let state: GuardedWork<State>

  /// Makes a session without an account; the credential is read by ``start()``.
  public init(
    service: DataService, credentials: any CredentialStore, configuration: Configuration = .init()
  ) {
    self.service = service
    self.credentials = credentials
    self.configuration = configuration
    state = GuardedWork(State(machine: SessionMachine(canRenew: configuration.renew != nil)))
  }

  /// The phase now.
  public var current: SessionPhase { state.withLock { $0.phases.value } }

  /// The phase now, and every later one.
  public var phases: AsyncStream<SessionPhase> {
    Broadcast.sequence { [weak self] change in self?.state.withLock { change(&$0.phases) } ?? nil }
  }

  /// Reads from the credential store whether an account is signed in; called once, at launch. Loads wait until it has.
  public func start() async {
    _ = await state.withLock { state in beginReading(&state) }.value
  }

  /// Begins to read the credential, unless that was begun.
  private func beginReading(_ state: inout State) -> Task<Task<DataServiceError?, Never>?, Never> {
    if let reading = state.reading { return reading }
    let reading = Task { [self] in await read() }
    state.reading = reading
    return reading
  }

  private func read() async -> Task<DataServiceError?, Never>? {
    let event: SessionMachine.Event
    do {
      event = .read(try await credentials.credential())
    } catch {
      event = .unreadable("\(error)")
    }
    return change { state in
      advance(event, &state)
      if state.isSignOutWanted { beginSignOut(&state) }
      return state.signOut
    }
  }

  /// Signs an account in, after a sign-out under way has ended. Another account that is signed in is replaced; its
  /// data stays stored under its name.
  /// - Throws: The credential store's error; the account is signed in nevertheless, until the program ends.
  public func signIn(_ credential: Credential) async throws {
    _ = await state.withLock { $0.isSignOutWanted ? $0.reading : nil }?.value
    while true {
      let (signOut, write) = change { state in
        if state.signOut == nil { advance(.signedIn(credential), &state) }
        return (state.signOut, state.lastWrite)
      }
      guard let signOut else {
        if let error = await write?.value { throw error }
        return
      }
      _ = await signOut.value
    }
  }

  /// Signs the account out. From the call on nothing of the account is delivered. On return its credential and its
  /// stored responses are removed. Where the credential has not been read yet, it is read first, and its account signed
  /// out.
  /// - Throws: `store`, `corrupt` or `closed` if the stored responses cannot be removed, `other` if the credential
  ///   cannot. The phase is `signedOut` nevertheless.
  public func signOut() async throws(DataServiceError) {
    let reading = state.withLock { state in
      if state.machine.phase == .launching { state.isSignOutWanted = true }
      return state.isSignOutWanted ? beginReading(&state) : nil
    }
    let task: Task<DataServiceError?, Never>?
    if let reading {
      // Awaits only the sign-out that follows the reading, so that a later account stays signed in.
      task = await reading.value
    } else {
      task = change { state in
        beginSignOut(&state)
        return state.signOut
      }
    }
    if let error = await task?.value { throw error }
  }

  /// Begins a sign-out unless one is under way or nobody is signed in.
  private func beginSignOut(_ state: inout State) {
    state.isSignOutWanted = false
    guard state.signOut == nil, let account = state.machine.phase.account else { return }
    advance(.signOutBegan, &state)
    let removal = write(&state) { [credentials] in try await credentials.remove() }
    state.signOut = Task { [self] in await removeAll(of: account, after: removal) }
  }

  /// Writes to the credential store, after the writes before.
  @discardableResult private func write(
    _ state: inout State, _ work: @escaping @Sendable () async throws -> Void
  ) -> Task<(any Error)?, Never> {
    let previous = state.lastWrite
    let write = Task { () -> (any Error)? in
      _ = await previous?.value
      do { try await work() } catch { return error }
      return nil
    }
    state.lastWrite = write
    return write
  }

  private func removeAll(of account: String, after removal: Task<(any Error)?, Never>) async
    -> DataServiceError?
  {
    var failure: DataServiceError?
    // Not after the removal of the credential, which may be slow: from now on nothing is delivered or stored.
    do throws(DataServiceError) {
      try await service.signOut(.named(account))
    } catch {
      failure = error
    }
    if let error = await removal.value, failure == nil {
      failure = DataServiceError(.other, "the credential could not be removed", underlying: error)
    }
    change { state in
      state.signOut = nil
      advance(.signOutEnded, &state)
    }
    return failure
  }

  // MARK: - Passes

  /// The credential a request is sent with, and its epoch and token number.
  struct Pass: Sendable {
    let credential: Credential
    let epoch: UInt64
    let tokenNumber: UInt64
    /// Whether the session has expired: nothing is sent any more, but what is stored is still the account's.
    let isExpired: Bool
    /// Whether the token is being renewed, by another than the task itself.
    let isBeingRenewed: Bool
    /// Whether the task is a part of the renewal of the token, so that it cannot wait for it.
    let isWithinRenewal: Bool
  }

  /// The pass to send requests with; `nil` while nobody is signed in, and once the session has expired.
  var pass: Pass? { passOfAccount.flatMap { $0.isExpired ? nil : $0 } }

  /// The pass of the account that loads are made for, also once its session has expired; `nil` while there is none.
  var passOfAccount: Pass? {
    state.withLock { state in
      guard let credential = state.machine.credential else { return nil }
      let isWithin = isWithinRenewal(state)
      return Pass(
        credential: credential, epoch: state.machine.epoch, tokenNumber: state.machine.tokenNumber,
        isExpired: state.machine.phase == .expired(account: credential.account),
        isBeingRenewed: state.machine.isRenewing && !isWithin, isWithinRenewal: isWithin)
    }
  }

  /// Whether responses to requests made with the pass may still be delivered.
  func isCurrent(_ pass: Pass) -> Bool { isCurrent(pass.epoch) }

  func isCurrent(_ epoch: UInt64) -> Bool { state.withLock { $0.machine.epoch == epoch } }

  /// A new pass in place of one that the origin has refused or that has expired. All callers share one renewal. Each
  /// waits until it is over, the task is cancelled, the account is signed out or replaced, or `limit` has passed, and
  /// fails with `late` then.
  func renewed(_ pass: Pass, within limit: Duration, orElse late: DataServiceError) async
    -> Result<Pass, DataServiceError>
  {
    let end = change { state -> AsyncStream<DataServiceError>? in
      guard !isWithinRenewal(state) else { return nil }
      advance(.rejected(tokenNumber: pass.tokenNumber), &state)
      return state.machine.isRenewing ? wait(for: state.machine.renewal, &state) : nil
    }
    var failure = Self.expired
    if let end { failure = await configuration.clock.first(of: end, within: limit) ?? late }
    guard let present = passOfAccount, present.epoch == pass.epoch else { return .failure(Self.signedOut) }
    guard !present.isExpired else { return .failure(Self.expired) }
    return present.tokenNumber == pass.tokenNumber ? .failure(failure) : .success(present)
  }

  /// The renewals that the task is a part of: the number of each, by its session.
  @TaskLocal private static var within: [ObjectIdentifier: UInt64] = [:]

  /// Whether the task is a part of the renewal under way. What an earlier one has left behind is none.
  private func isWithinRenewal(_ state: State) -> Bool {
    state.machine.isRenewing && Self.within[ObjectIdentifier(self)] == state.machine.renewal
  }

  /// A sequence that tells what the renewal failed with, and ends without it where the account does.
  private func wait(for renewal: UInt64, _ state: inout State) -> AsyncStream<DataServiceError> {
    let (end, waiting) = AsyncStream.makeStream(of: DataServiceError.self)
    state.waiting[renewal, default: []].append(waiting)
    return end
  }

  /// Reports that the origin refuses even the renewed token.
  func refusedAgain(_ pass: Pass) {
    change { state in advance(.rejectedAgain(tokenNumber: pass.tokenNumber), &state) }
  }

  static let signedOut = DataServiceError(.signedOut, "the account is signed out")
  static let expired = DataServiceError(
    .status, "the session has expired", hint: "sign in again", status: 401)

  /// Changes the state; outside the lock it tells the readers of the phases, and those who wait for a renewal of an
  /// account that has ended.
  @discardableResult private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    typealias Changed = (result: Result, ended: [AsyncStream<DataServiceError>.Continuation])
    let (result, ended) = state.withLock { state -> Changed in
      let epoch = state.machine.epoch
      let result = body(&state)
      guard state.machine.epoch != epoch else { return (result, []) }
      defer { state.waiting = [:] }
      return (result, Array(state.waiting.values.joined()))
    }
    for one in ended { one.finish() }
    Broadcast.tellReaders { isNext in state.withLock { $0.phases.next(after: isNext) } }
    return result
  }

  /// Handles an event, carries out the machine's effects and changes the phase; within ``change(_:)``.
  private func advance(_ event: SessionMachine.Event, _ state: inout State) {
    let before = state.machine.phase
    for effect in state.machine.handle(event) {
      switch effect {
      case .renew(let credential, let renewal):
        let end = wait(for: renewal, &state)
        Task { [self] in
          let work = Task { await renew(credential, renewal) }
          _ = await configuration.clock.first(of: end, within: configuration.renewalTimeout)
          // Means nothing unless the time is over.
          settle(renewal, DataServiceError(.timeout(.total), "the token was not renewed in time"))
          work.cancel()
        }
      case .save(let credential):
        write(&state) { [self] in
          // A credential that is no longer the session's is not written over what has followed it.
          guard self.state.withLock({ $0.machine.credential == credential }) else { return }
          try await credentials.save(credential)
        }
      }
    }
    if state.machine.phase != before { state.phases.send(state.machine.phase) }
  }

  private func renew(_ credential: Credential, _ renewal: UInt64) async {
    guard let renew = configuration.renew else { return }
    var within = Self.within
    within[ObjectIdentifier(self)] = renewal
    do {
      let renewed = try await Self.$within.withValue(within) { try await renew(credential) }
      let write = change { state in
        advance(.renewed(renewal, renewed), &state)
        return state.lastWrite
      }
      // Saved for the next launch. If it cannot be saved, it still serves this one.
      _ = await write?.value
      settle(renewal, Self.expired)
    } catch {
      settle(renewal, error as? DataServiceError ?? Self.expired)
    }
  }

  /// Ends the waits for a renewal; one that has no result yet has failed.
  private func settle(_ renewal: UInt64, _ failure: DataServiceError) {
    let isTransient = failure.kind.isConnectivity || failure.isTimeout
    let waiting = change { state in
      advance(.notRenewed(renewal, isTransient: isTransient), &state)
      return state.waiting.removeValue(forKey: renewal) ?? []
    }
    for one in waiting { one.yield(failure) }
  }
}

extension Session {
  /// How a session recognises and renews an expired token.
  public struct Configuration: Sendable {
    /// The statuses with which the origin refuses a token.
    public var expiredStatuses: Set<Int> = [401]
    /// Puts the token on a request; by default as `Authorization: Bearer`.
    public var authorize: @Sendable (inout DataService.Request, Credential) -> Void = { request, credential in
      request.fields["Authorization"] = "Bearer \(credential.token)"
    }
    /// Gets a new token for the same account; `nil` if tokens cannot be renewed. One call serves all waiting requests.
    /// A thrown `DataServiceError` about the network or a time-out counts as transient; any other error ends the
    /// session. A load that it makes through the session is sent with the old token, and fails with the status 401 where
    /// that is refused. Its task is cancelled once its time is over, and when the account is signed out or replaced.
    public var renew: (@Sendable (Credential) async throws -> Credential)?
    /// How long ``renew`` may take, by ``clock``. After that the renewal has failed with `timeout(total)`, which is
    /// transient: the next refusal begins another. A late result is used while no later token has come.
    public var renewalTimeout: Duration = .seconds(60)
    /// How long before its expiry a token counts as expired.
    public var expiryMargin: Duration = .seconds(5)
    /// The wall clock.
    public var now: @Sendable () -> Date = { Date() }
    /// Measures how long a renewal takes, and how long a load waits for one.
    public var clock = LaunchClock.continuous

    /// The defaults.
    public init() {}
  }
}
