internal import PlatformFoundation

/// A load, whatever its value.
protocol AnyLoad: AnyObject, Sendable {
  /// What is asked; `nil` for a load that was refused.
  var request: PreparedRequest? { get }
  func cancel()
  func finished() async
  /// Ends with this failure, and nothing of what is stored.
  func stop(with error: DataServiceError)
}

/// An exchange, as its loads see it.
protocol AnyExchange: AnyObject, Sendable {
  /// The request of the load that began it.
  var prepared: PreparedRequest { get }
  /// The account's row id, where it is at hand.
  var accountID: Int64? { get }
  /// Starts the work; called once.
  func start()
  /// Adds a load; `false` where the exchange can no longer be joined.
  func join(_ waiter: ExchangeWaiter) -> Bool
  /// Removes a load. The last one to leave stops the exchange, unless one asked for it to finish into the store.
  func leave(_ load: any AnyLoad, finishingIntoStore: Bool)
  /// Ends it at once with an error, as sign-out and closing do.
  func stop(with error: DataServiceError)
}

/// A load that is held until it is wanted, whatever its value.
protocol AnyPrefetch: AnyObject, Sendable {
  var group: String? { get }
  /// Begins the load, on the network thread.
  func begin()
  /// Gives up what is not committed.
  func release(_ reason: ReleaseReason)
  /// Drops what it has read where its request is of an account that is signed out, and hands out that failure in its place.
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
/// Functions in place of a protocol: a load is generic, and what is called through a protocol would run in the form that
/// is made for every type of value, which looks up types as it goes and needs three times the instructions.
struct ExchangeWaiter: Sendable {
  /// Which load it is.
  let load: any AnyLoad
  /// The statuses that it takes for an answer; `nil` for all. Judged before ``accepts`` is asked.
  let acceptedStatuses: ClosedRange<Int>?
  /// Whether ``accepts`` has to be asked, with the whole body in memory.
  let decodes: Bool
  /// Whether the load's decoder takes the answer; asked before the row is replaced, and never again.
  let accepts: @Sendable (_ answer: Answer, _ data: Data) -> Bool
  /// Told how far the body has come; `nil` where nobody wants to know.
  let received: (@Sendable (DataService.TransferProgress) -> Void)?
  /// Told that the exchange is over for the caller.
  let finished: @Sendable (ExchangeResult) -> Void
  /// Told that what the exchange had to write is written or given up.
  let settled: @Sendable () -> Void

  /// Whether an answer of that status is one.
  func takes(status: Int) -> Bool { acceptedStatuses?.contains(status) ?? true }
}
