internal import CacheStore

/// What all loads of a service share and change: one value under one lock, which ``ServiceCore`` has.
///
/// Nothing is called under that lock that takes another one, waits, or is the caller's. What is taken out and may be the
/// last reference to something is handed out of the lock first: its end may be the caller's, too.
struct ServiceState {
  /// The loads under way, kept alive: a dropped handle does not cancel.
  private(set) var loads = IdentityList<any AnyLoad> { ObjectIdentifier($0) }
  var exchanges = ExchangesUnderWay()
  /// Bodies that are delivered while they arrive. Their loads are over, so that whoever ends loads must end them as well.
  var liveBodies: [WeakLiveBody] = []
  var prefetches = HeldPrefetches()
  var retryBudgets = RetryBudgets()
  var maintenance: Maintenance
  /// Why loads are refused, once the service is closed.
  var closed: DataServiceError?
  /// What wakes and what ends each sequence of `changes(to:)` that somebody listens to; those of `live(_:)` are only ended.
  var observers: [(number: Int, wakeup: Wakeup?, end: @Sendable () -> Void)] = []
  /// What wakes them; while there is one of them.
  var watch: StoreWatch?
  var lastObserver = 0
  /// The store's troubles that were told of. Few, so that no set is needed.
  var reported: [String] = []
  /// When another process's exchange last answered a load, in nanoseconds since boot; see ``ServiceCore/yieldToFollowers()``.
  var followedAt: Int64?
  var digestKey: DigestKey?
  var certificates = CertificateDigests()
  /// The names of the fields that are never stored.
  var secretFieldNames: FieldNames?
  var leaseText = LeaseTextMemory()

  init(now: Int64) { maintenance = Maintenance(last: now) }

  mutating func add(_ load: any AnyLoad) { loads.add(load) }

  mutating func remove(_ load: any AnyLoad) { loads.remove(load) }

  /// Whether nothing is under way.
  var isIdle: Bool { loads.isEmpty && exchanges.count == 0 && maintenance.task == nil }

  /// Notes that an exchange has ended, and whether the network was there for it.
  mutating func noteNetwork(after result: ExchangeResult, now: Int64) {
    switch result {
    case .failure(let error) where error.kind.isConnectivity: prefetches.failedAt = now
    case .failure(let error) where error.kind == .cancelled: break
    case .failure, .answer: prefetches.failedAt = nil
    }
  }
}

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
