internal import CacheStore
internal import PlatformFoundation

/// A load of any value type.
protocol AnyLoad: AnyObject, Sendable {
  /// The request; `nil` for a load that was refused.
  var request: PreparedRequest? { get }
  func cancel()
  /// Returns once everything is delivered or cancelled, and what there was to store is stored or given up.
  func finished() async
  /// Returns once its callbacks have run, too.
  func called() async
  /// Ends the load with this failure, without any stored response. Called on the network thread.
  func stop(with error: DataServiceError)
  /// Whether its caller wants it no more; its exchange hears of that a moment later.
  var isCancelled: Bool { get }
  /// Begins to write for the load; `false` where it was cancelled before.
  func claim() -> Bool
  /// Ends that, before the origin is asked again.
  func release()
}

// A load that is no exchange's.
extension AnyLoad {
  func called() async { await finished() }
  var isCancelled: Bool { false }
  func claim() -> Bool { true }
  func release() {}
}

/// An exchange, as its loads see it: on the network thread alone.
protocol AnyExchange: AnyObject, Sendable {
  /// The request of the load that began it.
  var prepared: PreparedRequest { get }
  /// The account's row id, if known.
  var accountID: Int64? { get }
  /// Another machine's response that stands in for a stored one, once there is one.
  var served: Box<StoredResponse>? { get }
  /// The failure of the last attempt, while another is waited for or under way.
  var trouble: DataServiceError? { get }
  /// Starts the work; called once.
  func start()
  /// Adds a load; `false` if that load can no longer join the exchange.
  func join(_ waiter: ExchangeWaiter) -> Bool
  /// Removes a load. The last one to leave stops the exchange, unless a load has asked for it to fill the store.
  func leave(_ load: any AnyLoad, finishingIntoStore: Bool)
  /// Ends the exchange at once with an error, for sign-out and closing.
  func stop(with error: DataServiceError)
  /// Ends its lease, now or once it has one: what it asked for has changed since, so that later exchanges, here
  /// and in other processes, must not wait for its answer.
  func releaseOutdated()
}

/// A prefetch of any value type.
protocol AnyPrefetch: AnyObject, Sendable {
  var group: String? { get }
  /// Begins the load, on the network thread.
  func begin()
  /// Releases the prefetch, unless it is committed. From any thread.
  func release(_ reason: ReleaseReason)
  /// If the request belongs to a signed-out account, drops its deliveries and delivers that failure instead. On the
  /// network thread.
  func signOut(where condition: (PreparedRequest) -> Bool)
}

/// Why a prefetch is released.
enum ReleaseReason: Sendable { case cancelled, replaced, timeOver }

/// How an exchange ended.
enum ExchangeResult: Sendable {
  case answer(Answer)
  case failure(DataServiceError)
}

/// A load, as its exchange sees it.
///
/// A struct of closures and not a protocol: loads are generic, and calls through a protocol would run the
/// unspecialised code, which looks up types at run time and takes three times the instructions.
struct ExchangeWaiter: Sendable {
  /// The load, for its identity.
  let load: any AnyLoad
  /// Whether the load accepts an answer that was asked for before it began.
  var mayFollow = true
  /// Until when it waits for an answer, in nanoseconds since boot; `nil` where it has no deadline.
  var waitsUntil: Int64?
  /// The statuses that the load accepts; `nil` for all. Checked before ``decoder`` is asked.
  let acceptedStatuses: ClosedRange<Int>?
  /// What makes the load's value of an answer whose whole body is in memory, on another thread, before the row is
  /// replaced, or a candidate is stored; `nil` where the load takes every body.
  let decoder: (@Sendable (Answer) -> @Sendable (Data) -> DecodedAnswer)?
  /// Called with another machine's response, before the origin is asked.
  let serve: @Sendable (Box<StoredResponse>) -> Void
  /// Receives the body's progress; `nil` if the caller does not want it.
  let received: (@Sendable (DataService.TransferProgress) -> Void)?
  /// Called with the exchange's answer or failure.
  let answered: @Sendable (ExchangeResult) -> Void
  /// Called when the exchange's writes are committed or abandoned.
  let committed: @Sendable () -> Void

  /// Whether the load accepts an answer of that status.
  func takes(status: Int) -> Bool { acceptedStatuses?.contains(status) ?? true }
}

/// What a load's decoder has made of an answer.
struct DecodedAnswer: Sendable {
  let isAccepted: Bool
  /// Gives it to the load, on the network thread.
  let take: @Sendable () -> Void
}
