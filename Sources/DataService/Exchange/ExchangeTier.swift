internal import CacheStore

/// What the fleet's second tier has to do with one exchange.
struct ExchangeTier: Sendable {
  /// What the tier was asked; `nil` where it was not.
  var question: TierQuestion?
  /// The ticket under which the answer is offered; `nil` where the tier gave none.
  var ticket: TierTicket?
  /// The pause that another machine was asked for.
  var pause: Pause?
  /// Why nothing is offered, as far as it is known without the answer.
  var unshared: DataService.UnsharedReason?
  /// The tier's row, in memory until the exchange ends.
  var row: Box<StoredResponse>?
  /// Called once the row is taken in, or will not be.
  var end: (@Sendable () -> Void)?
  /// Whether that row is being handed to the loads.
  var isServing = false
  /// Whether that row was all that a load wanted which has left meanwhile.
  var isEnough = false
  /// Whether a load that has left could not use that row.
  var isRefused = false
  /// Whether the row, or what a 304 made of it, is in the store.
  var isTakenIn = false
  /// What the sharing rule looks at in the hops of the last request.
  var hops = Sharing.Answered()
}
