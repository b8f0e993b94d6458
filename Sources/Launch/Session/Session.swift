public import DataService
internal import PlatformFoundation
internal import Synchronization

/// The signed-in account and the loads made for it.
///
/// As a ``DeliverySource`` it puts the account and its token on every request, renews an expired token once for all
/// requests that wait for it, and then repeats each of them once. All members may be called from any thread.
public final class Session: DeliverySource {
  private struct State {
    var machine: SessionMachine
    var renewal: Task<DataServiceError?, Never>?
    var signOut: Task<DataServiceError?, Never>?
    var hasStarted = false
  }

  let service: DataService
  let configuration: Configuration
  private let credentials: any CredentialStore
  private let broadcast = Broadcast<SessionPhase>(.launching, buffer: .unbounded)
  private let state: Mutex<State>

  /// Makes a session without an account; the credential is read by ``start()``.
  public init(
    service: DataService, credentials: any CredentialStore, configuration: Configuration = .init()
  ) {
    self.service = service
    self.credentials = credentials
    self.configuration = configuration
    state = Mutex(State(machine: SessionMachine(canRenew: configuration.renew != nil)))
  }

  /// The phase now.
  public var current: SessionPhase { broadcast.current }

  /// The phase now, and every later one.
  public var phases: AsyncStream<SessionPhase> { broadcast.values }

  /// Reads from the credential store whether an account is signed in; called once, at launch.
  public func start() async {
    guard state.withLock({ !$0.hasStarted }) else { return }
    state.withLock { $0.hasStarted = true }
    do {
      handle(.read(try await credentials.credential()))
    } catch {
      handle(.unreadable("\(error)"))
    }
  }

  /// Signs an account in, after a sign-out under way has ended. Another account that is signed in is replaced; its
  /// data stays stored under its name.
  /// - Throws: The credential store's error; the account is signed in nevertheless, until the program ends.
  public func signIn(_ credential: Credential) async throws {
    _ = await state.withLock { $0.signOut }?.value
    handle(.signedIn(credential))
    try await credentials.save(credential)
  }

  /// Signs the account out. From the call on nothing of the account is delivered. On return its credential and its
  /// stored responses are removed.
  /// - Throws: `store` if the stored responses cannot be removed, `other` if the credential cannot. The phase is
  ///   `signedOut` nevertheless.
  public func signOut() async throws(DataServiceError) {
    let task = state.withLock { state -> Task<DataServiceError?, Never>? in
      if let task = state.signOut { return task }
      guard let account = state.machine.phase.account else { return nil }
      advance(.signOutBegan, &state)
      let renewal = state.renewal
      state.renewal = nil
      let task = Task { [self] in
        renewal?.cancel()
        return await removeAll(of: account)
      }
      state.signOut = task
      return task
    }
    if let error = await task?.value { throw error }
  }

  private func removeAll(of account: String) async -> DataServiceError? {
    var failure: DataServiceError?
    do {
      try await credentials.remove()
    } catch {
      failure = DataServiceError(.other, "the credential could not be removed", underlying: error)
    }
    do throws(DataServiceError) {
      try await service.signOut(.named(account))
    } catch {
      failure = error
    }
    state.withLock { state in
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
  }

  /// The current pass; `nil` while nobody is signed in.
  var pass: Pass? {
    state.withLock { state in
      guard case .signedIn = state.machine.phase, let credential = state.machine.credential else {
        return nil
      }
      return Pass(credential: credential, epoch: state.machine.epoch, tokenNumber: state.machine.tokenNumber)
    }
  }

  /// Whether responses to requests made with the pass may still be delivered.
  func isCurrent(_ pass: Pass) -> Bool { state.withLock { $0.machine.epoch == pass.epoch } }

  /// A new pass in place of one that the origin has refused or that has expired. All callers share one renewal.
  func renewed(_ pass: Pass) async -> Result<Pass, DataServiceError> {
    let renewal = state.withLock { state in
      advance(.rejected(tokenNumber: pass.tokenNumber), &state)
      return state.machine.isRenewing ? state.renewal : nil
    }
    let failure = await renewal?.value
    guard isCurrent(pass) else { return .failure(Self.signedOut) }
    if let failure { return .failure(failure) }
    guard let present = self.pass, present.tokenNumber != pass.tokenNumber else {
      return .failure(Self.expired)
    }
    return .success(present)
  }

  /// Reports that the origin refuses even the renewed token.
  func refusedAgain(_ pass: Pass) { handle(.rejectedAgain(tokenNumber: pass.tokenNumber)) }

  static let signedOut = DataServiceError(.signedOut, "the account is signed out")
  static let expired = DataServiceError(
    .status, "the session has expired", hint: "sign in again", status: 401)

  private func handle(_ event: SessionMachine.Event) {
    state.withLock { state in advance(event, &state) }
  }

  /// Handles an event, carries out the machine's effects and broadcasts the phase, all under the lock: every reader
  /// sees the same order.
  private func advance(_ event: SessionMachine.Event, _ state: inout State) {
    let before = state.machine.phase
    for effect in state.machine.handle(event) {
      guard case .renew(let credential, let epoch) = effect else { continue }
      state.renewal = Task { [self] in await renew(credential, epoch: epoch) }
    }
    if state.machine.phase != before { broadcast.send(state.machine.phase) }
  }

  private func renew(_ credential: Credential, epoch: UInt64) async -> DataServiceError? {
    guard let renew = configuration.renew else { return Self.expired }
    do {
      let renewed = try await renew(credential)
      handle(.renewed(epoch: epoch, renewed))
      // Saved for the next launch. If it cannot be saved, it still serves this one.
      if pass?.credential == renewed { try? await credentials.save(renewed) }
      return nil
    } catch {
      let error = error as? DataServiceError
      let isTransient = error.map { $0.kind.isConnectivity || $0.kind.name.hasPrefix("timeout") } ?? false
      handle(.notRenewed(epoch: epoch, isTransient: isTransient))
      return isTransient ? error : Self.expired
    }
  }
}
