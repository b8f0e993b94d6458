internal import CacheStore

/// The mutable state that all loads of a service share, under one lock in ``ServiceCore``.
///
/// Under that lock no other lock is taken, nothing waits, and no caller's code runs. Objects that are removed are
/// released outside it, since their `deinit` may run the caller's code.
struct ServiceState {
  /// The running loads, retained here: dropping a handle does not cancel its load.
  private(set) var loads = IdentityList<any AnyLoad> { ObjectIdentifier($0) }
  /// The bodies that are delivered while they arrive. Their loads are over, so sign-out and closing must end them
  /// separately.
  var liveBodies: [WeakLiveBody] = []
  var prefetches = HeldPrefetches()
  /// The reason for refusing loads, once the service is closed.
  var closed: DataServiceError?
  /// The accounts that are being signed out. Nothing of theirs begins: what it looked up would be delivered after that.
  var leaving: [String] = []
  /// What wakes and ends each running sequence of `changes(to:)`, and what reaches the readers of `live(_:)`.
  var observers: [Observer] = []
  /// Wakes the observers; `nil` while there are none.
  var watch: StoreWatch?
  var lastObserver = 0
  /// The number of the last exchange; counted only where `onEvent` is set.
  var lastExchange = 0
  /// The store errors that were reported last, 100 at most.
  private var reported: [String] = []
  var digestKey: DigestKey?
  var certificates = CertificateDigests()
  /// The names of the fields that are never stored.
  var secretFieldNames: FieldNames?
  var leaseText = LeaseTextMemory()

  init() {}

  mutating func add(_ load: any AnyLoad) { loads.add(load) }

  mutating func remove(_ load: any AnyLoad) { loads.remove(load) }

  /// Notes that a sign-out of the account is over; another may be under way.
  mutating func end(leaving account: String) {
    if let place = leaving.firstIndex(of: account) { leaving.remove(at: place) }
  }

  /// Why a load of that account does not begin; `nil` where it does.
  func refusal(of account: String) -> DataServiceError? {
    closed ?? (leaving.contains(account) ? .signedOut : nil)
  }

  /// Records a store error. Returns whether it is not among those reported last.
  mutating func report(_ message: String) -> Bool {
    guard !reported.contains(message) else { return false }
    // Those that name a URL could be as many as there are URLs.
    if reported.count == 100 { reported.removeFirst() }
    reported.append(message)
    return true
  }

  /// Records the end of an exchange, and whether it failed for lack of a network.
  mutating func noteNetwork(after result: ExchangeResult, now: Int64) {
    switch result {
    case .failure(let error) where error.kind.isConnectivity: prefetches.failedAt = now
    case .failure(let error) where error.kind == .cancelled: break
    case .failure, .answer: prefetches.failedAt = nil
    }
  }
}

extension ServiceState {
  /// A running sequence of `changes(to:)` or `live(_:)`.
  struct Observer: Sendable {
    let number: Int
    let wakeup: Wakeup?
    let reader: LiveReader?
    let end: @Sendable () -> Void
  }

  /// An iteration of a live sequence.
  struct LiveReader: Sendable {
    let sequence: LiveSequence
    /// `nil` where the request is invalid.
    let request: PreparedRequest?
    let refetch: @Sendable () -> Void
    let signOut: @Sendable () -> Void
  }
}

/// Stands for one live sequence, all of whose iterations `refetch()` reaches.
final class LiveSequence: Sendable {}

/// When the service last did a share of the store's background work, and what is under way of it.
struct Maintenance {
  private var last: Int64
  private var wasAsked = false
  var task: Task<Void, Never>?

  init(last: Int64) { self.last = last }

  /// Whether it is time for a share: the first time it is asked, then once in every `pause`.
  mutating func takeTurn(at now: Int64, pause: Int64) -> (isTurn: Bool, isRegular: Bool) {
    let isRegular = now - last > pause
    let isTurn = task == nil && (isRegular || !wasAsked)
    wasAsked = true
    if isTurn { last = now }
    return (isTurn, isRegular)
  }
}
