public import CacheStore

extension DataService {
  /// How a service works; every value has a default that suits a program with one store of its own.
  public struct Configuration: Sendable {
    /// Where and how rows are stored.
    public var store: StoreConfiguration
    /// What is never written, and partitions.
    public var secrets = SecretList()
    /// Whether an exchange that nobody waits for any more, because `freshElseStored`'s deadline has passed, goes on
    /// into the store.
    public var finishesAfterDeadline = true
    /// Whether exchanges call the store on threads of its own only, so that a file system that does not answer (a share whose
    /// server is away, a dying disk) holds up no load that has its answer from the network: each call is then waited for
    /// 250 ms. Off, the network thread makes the quick calls itself, which spares 20 to 40 µs for each refresh: for a program
    /// with thousands of refreshes a second whose store is in memory, or on a disk that it can rely on.
    public var keepsStoreApart = true
    /// How much may be anticipated at once.
    public var anticipation = AnticipationLimits()
    /// Told of trouble that does not stop a delivery, on a thread of the service's; must return at once.
    public var onWarning: (@Sendable (Warning) -> Void)?
    /// Called with what the service does, for logs and metrics. `nil`, the default, costs nothing.
    ///
    /// The service calls it on its own thread, which also moves all transfers, and for deliveries also on the thread
    /// that asked, so calls can overlap. It must return at once. Each call precedes the delivery that the event leads
    /// to. The service holds no lock during the call, so the closure may call the service.
    public var onEvent: (@Sendable (Event) -> Void)?
    /// Told what the service does, one line an event, for `-v`; holds no secret.
    package var onTrace: (@Sendable (String) -> Void)?
    /// How long the halves of the service wait for each other.
    package var timeouts = InternalTimeouts()
    /// The clock; `nil` takes the system's. Tests set their own.
    package var timekeeper: (any Timekeeper)?

    /// The defaults, with this program's own store in the user's cache directory unless another path is given.
    public init(store: StoreConfiguration = StoreConfiguration(path: StoreConfiguration.defaultPath())) {
      self.store = store
    }
  }

  /// How much may be anticipated at once.
  public struct AnticipationLimits: Sendable, Hashable {
    /// How many are held; one more lets go of the oldest.
    public var count = 4
    /// The largest body of each, in bytes; a larger one is given up.
    public var bytes: Int64 = 2 << 20
    /// The defaults.
    public init() {}
  }
}

/// How long one half of the service waits for the other (laws 3 and 4).
package struct InternalTimeouts: Sendable {
  /// After this long without the store's answer, the exchange starts without it.
  package var slowStore = Duration.milliseconds(20)
  /// A fresh response that is complete waits this long for the store's answer.
  package var storeAnswer = Duration.milliseconds(250)
  /// A delivery waits this long for its row to be committed.
  package var commit = Duration.milliseconds(250)

  /// What the laws say.
  package init() {}

  /// For tests on a machine that is busy with others: each half waits for the other as long as it takes.
  package static var endless: InternalTimeouts {
    var timeouts = InternalTimeouts()
    timeouts.slowStore = .seconds(3600)
    timeouts.storeAnswer = .seconds(3600)
    timeouts.commit = .seconds(3600)
    return timeouts
  }
}
