public import CacheStore
package import PlatformFoundation

extension DataService {
  /// The settings of a service; the defaults suit a program with one store of its own.
  public struct Configuration: Sendable {
    /// The store's path, limits and mode.
    public var store: StoreConfiguration
    /// The fields and query parameters whose values are never stored and partition the store.
    public var secrets = SecretList()
    /// Whether an exchange continues, and its answer is stored, after the deadline of `freshElseStored` has passed.
    public var finishesAfterDeadline = true
    /// The fleet's second tier, which exchanges ask before they ask the origin; `nil`, the default, for none. A load
    /// that the store answers costs no more for it.
    public var tier: Tier?
    /// Makes what stands for it in a service.
    var makeUpstream: (@Sendable (UpstreamHost) -> any Upstream)? { tier?.makeUpstream }
    /// The limits on anticipated loads.
    public var anticipation = AnticipationLimits()
    /// How many exchanges are under way at a time, over the service's own transport on libcurl; further ones wait their
    /// turn, and no time limit runs meanwhile. A transport that is handed over has limits of its own.
    public var exchanges = ExchangeLimits()
    /// Called with problems that stop no delivery, on a thread of the service or on the one that called it, the main
    /// thread included, so calls can overlap. It must return at once.
    public var onWarning: (@Sendable (Warning) -> Void)?
    /// Called with what the service does, for logs and metrics. `nil`, the default, costs nothing.
    ///
    /// ```swift
    /// configuration.onEvent = { event in
    ///   if case .answered(let answered) = event.kind { count(answered.status, after: event.elapsed) }
    /// }
    /// ```
    ///
    /// The service calls it on its own thread, which also moves all transfers, and for deliveries also on the thread
    /// that asked, so calls can overlap. It must return at once. Each call precedes the delivery that the event leads
    /// to. The service holds no lock during the call, so the closure may call the service.
    public var onEvent: (@Sendable (Event) -> Void)?
    /// Called with each line of the trace: one for each step, without secrets.
    package var onTrace: (@Sendable (String) -> Void)?
    /// Called before each pause after which a server that has answered is asked again.
    package var onWait: (@Sendable (_ url: String, _ delay: Duration, _ status: Int) -> Void)?
    /// Called when a host has asked not to be asked for so long, and is not from now on.
    package var onPause: (@Sendable (_ host: String, _ length: Duration, _ status: Int) -> Void)?
    /// Asks another process, which keeps connections, for an exchange; `nil` from it where that makes none, or not to its
    /// end: then it is made here.
    package var handOver: (@Sendable (Request) async -> HandedOver?)?
    /// The time limits between the store and the network.
    package var timeouts = InternalTimeouts()
    /// What the network thread runs first, unless the transport brings a thread of its own.
    package var threadPreparation: (@Sendable () -> Void)?
    /// The network thread, unless the transport brings one of its own; `nil` makes one. Tests set one that they drive.
    package var thread: NetworkThread?
    /// Numbers from 0 up to, not including, 1: how retries are spread. Tests set their own.
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// The clock; `nil` takes the system's. Tests set their own.
    package var timekeeper: (any Timekeeper)?

    /// The defaults, with this program's own store in the user's cache directory unless another path is given.
    public init(store: StoreConfiguration = StoreConfiguration(path: StoreConfiguration.defaultPath())) {
      self.store = store
    }
  }

  /// How an exchange has ended that another process has made.
  package enum HandedOver: Sendable {
    /// The response is in the store, by a 304 or as it came.
    case stored(wasValidated: Bool)
    /// It is not, and why.
    case unkept(status: Int, fields: HTTPFields, url: String, body: Data, KeptReason)
    case failure(DataServiceError)
  }

  /// A fleet's shared second tier. Its engine's product makes one: `RedisTier` has `Tier.redis(_:)`.
  ///
  /// Several services may be given the same one: each has an engine and connections of its own.
  public struct Tier: Sendable {
    /// Makes what stands for it in one service. Opens nothing.
    package let makeUpstream: @Sendable (UpstreamHost) -> any Upstream

    /// A tier that is made so.
    package init(makeUpstream: @escaping @Sendable (UpstreamHost) -> any Upstream) {
      self.makeUpstream = makeUpstream
    }
  }

  /// The limits on anticipated loads.
  public struct AnticipationLimits: Sendable, Hashable {
    /// The largest number of held anticipations; a further one releases the oldest. A number below 1 counts as 1.
    public var count = 4
    /// The largest body of each until it is committed, in bytes. A load with a longer one is given up, and begun again
    /// without this limit when it is committed.
    public var bytes: Int64 = 2 << 20
    /// The defaults.
    public init() {}
  }
}

/// The time limits between the store and the network (laws 3 and 4).
package struct InternalTimeouts: Sendable {
  /// The time after which an exchange starts without the store's answer.
  package var slowStore = Duration.milliseconds(20)
  /// The same for a store that has to be opened. On a busy machine that exceeds the 20 ms of a lookup, and an exchange
  /// without the stored validators would download the stored body again.
  package var opening = Duration.milliseconds(250)
  /// The time a complete fresh response waits for the store's answer.
  package var storeAnswer = Duration.milliseconds(250)
  /// The time a delivery waits for the commit of its row.
  package var commit = Duration.milliseconds(250)
  /// The time an exchange waits for the lock file, and for what the process that it waited for has stored. It exceeds
  /// what a busy machine needs, since giving up costs the origin another request.
  package var lockFile = Duration.seconds(2)
  /// The time that the end of the service waits for offers upstream that are under way.
  package var goodbye = Duration.milliseconds(250)

  /// The values in the laws.
  package init() {}

  /// No limits, for tests on a busy machine.
  package static var endless: InternalTimeouts {
    var timeouts = InternalTimeouts()
    timeouts.slowStore = .seconds(3600)
    timeouts.opening = .seconds(3600)
    timeouts.storeAnswer = .seconds(3600)
    timeouts.commit = .seconds(3600)
    timeouts.lockFile = .seconds(3600)
    timeouts.goodbye = .seconds(3600)
    return timeouts
  }
}
