public import DataService
internal import FoundationEssentials
internal import Synchronization

/// Who is signed in, and the loads that are made in their name.
///
/// As a ``DeliverySource`` it puts the account and its token on every request, has an expired token renewed once for
/// all requests that wait for it, and makes each of those once more. All members may be called from any thread.
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

  /// A session that knows nobody before ``start()``.
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
  /// - Throws: What the credential store throws; the account is signed in all the same, until the program ends.
  public func signIn(_ credential: Credential) async throws {
    _ = await state.withLock { $0.signOut }?.value
    handle(.signedIn(credential))
    try await credentials.save(credential)
  }

  /// Signs the account out. From the moment of the call nothing of it is delivered; on return its credential is
  /// removed and its bytes are gone from the store.
  /// - Throws: `store`, where bytes cannot be removed; `other`, where the credential cannot. The phase is `signedOut`
  ///   all the same.
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

  /// What a request is made with, and which epoch and token it belongs to.
  struct Pass: Sendable {
    let credential: Credential
    let epoch: UInt64
    let generation: UInt64
  }

  /// The present pass; `nil` while nobody is signed in.
  var pass: Pass? {
    state.withLock { state in
      guard case .signedIn = state.machine.phase, let credential = state.machine.credential else {
        return nil
      }
      return Pass(credential: credential, epoch: state.machine.epoch, generation: state.machine.generation)
    }
  }

  /// Whether what was begun with the pass may still be delivered.
  func isCurrent(_ pass: Pass) -> Bool { state.withLock { $0.machine.epoch == pass.epoch } }

  /// Another pass in place of one that the origin refuses, or that has expired; one renewal serves all that ask.
  func renewed(_ pass: Pass) async -> Result<Pass, DataServiceError> {
    let renewal = state.withLock { state in
      advance(.rejected(generation: pass.generation), &state)
      return state.machine.isRenewing ? state.renewal : nil
    }
    let failure = await renewal?.value
    guard isCurrent(pass) else { return .failure(Self.signedOut) }
    if let failure { return .failure(failure) }
    guard let present = self.pass, present.generation != pass.generation else {
      return .failure(Self.expired)
    }
    return .success(present)
  }

  /// The origin refuses even the renewed token.
  func refusedAgain(_ pass: Pass) { handle(.rejectedAgain(generation: pass.generation)) }

  static let signedOut = DataServiceError(.signedOut, "the account is signed out")
  static let expired = DataServiceError(
    .status, "the session has expired", hint: "sign in again", status: 401)

  private func handle(_ event: SessionMachine.Event) {
    state.withLock { state in advance(event, &state) }
  }

  /// Takes an event in, begins what the machine wants, and says the phase, in one order for everyone.
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
      // Kept for the next launch; for this one it is good even if it cannot be kept.
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
