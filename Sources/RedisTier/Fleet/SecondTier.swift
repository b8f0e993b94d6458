package import CacheStore
package import DataService
package import PlatformFoundation

/// A second tier as exchanges use it: a store of last good responses that the fleet shares.
///
/// No function throws. A question waits no longer than the tier's patience, a long body no longer than eight times
/// that, and anything else no longer than it in each of a few round trips. A tier that is down, slow, full or
/// lying answers with ``TierReply/silent(because:)`` or without a row, so that it costs misses and nothing else
/// (law 9). All calls come from tasks on the service's network thread.
package protocol SecondTier: AnyObject, Sendable {
  /// What may be shared through it, as it was configured.
  var terms: TierTerms { get }

  /// Gives the tier what it works with. Called once, before anything else; opens no connection.
  func attach(to host: TierHost)

  /// Asks for a row and a ticket, in one round trip.
  func ask(_ question: TierQuestion) async -> TierReply

  /// The body of a row whose body did not come with it; `nil` if it is gone, does not open, or is late.
  func body(of row: TierRow, for question: TierQuestion) async -> Data?

  /// Writes a response that is committed in the local store, unless the tier has a newer one.
  func offer(_ offer: TierOffer) async -> TierOffered

  /// Invalidates every row of the target, and every offer that began before now: after a removal or an unsafe
  /// request. If the question names a responder, its pause ends too.
  /// - Returns: Whether the tier has confirmed it.
  func invalidate(_ question: TierQuestion) async -> Bool

  /// Tells the fleet of the `Retry-After` of the question's responder, in milliseconds from now.
  func pause(_ milliseconds: Int64, _ question: TierQuestion) async

  /// Makes every row of a shared account unreadable, for all machines and for good, with the offers that are under way.
  /// - Returns: Whether the tier has confirmed it.
  func signOut(_ account: String) async -> Bool

  /// Examines the tier for the check of a store, even if it is silent.
  func examine() async -> [StoreFinding]

  /// Closes the connection. Calls after it find a silent tier.
  func close()
}

/// What may be shared through a tier.
package struct TierTerms: Sendable, Equatable {
  /// The accounts whose responses are shared, by name. The responses of no account are shared anyway.
  package var accounts: Set<String> = []
  /// Whether responses that came over plain http are shared.
  package var sharesPlainHTTP = false
  /// The longest body, in bytes, that is offered or taken.
  package var largestBody: Int64 = 8 << 20
  /// Whether the tier is asked but never written.
  package var isReadOnly = false
  /// Whether the configuration could be read. Where not, nothing is shared, and what may have been shared is unknown.
  package var isKnown = true

  /// The defaults.
  package init() {}

  /// Whether the tier may have rows of an account; of no account for an empty name.
  package func mayHave(of account: String) -> Bool {
    account.isEmpty || !isKnown || accounts.contains(account)
  }
}

/// What a service gives its tier to work with.
package struct TierHost: Sendable {
  /// The service's clock.
  package var timekeeper: any Timekeeper
  /// The instant before which no process on this machine asks the tier.
  package var silence: any TierSilenceMark
  /// Writes a line to the trace.
  package var trace: @Sendable (String) -> Void
  /// Reports a problem that stops no delivery.
  package var warn: @Sendable (DataService.Warning) -> Void
  /// Whether to warn of what every process on the store meets; each `true` counts.
  package var takesWarning: @Sendable () -> Bool

  /// Makes a host.
  package init(
    timekeeper: any Timekeeper, silence: any TierSilenceMark, trace: @escaping @Sendable (String) -> Void,
    warn: @escaping @Sendable (DataService.Warning) -> Void,
    takesWarning: @escaping @Sendable () -> Bool = { true }
  ) {
    self.timekeeper = timekeeper
    self.silence = silence
    self.trace = trace
    self.warn = warn
    self.takesWarning = takesWarning
  }
}

/// A number beside the store that the processes of a machine share: a process that found the tier dead spares the
/// others the wait. It is only a hint; a process that cannot read it asks.
package protocol TierSilenceMark: Sendable {
  /// The number; 0 where there is none.
  func read() -> Int64
  /// Replaces the number.
  func write(_ value: Int64)
}

/// The tier's silence, shared by all processes on a store beside its leases.
package struct StoreSilenceMark: TierSilenceMark {
  private let store: ResponseStore

  /// The mark of a store.
  package init(_ store: ResponseStore) { self.store = store }

  package func read() -> Int64 { store.upstreamMark }
  package func write(_ value: Int64) { store.setUpstreamMark(value) }
}

/// A request in the terms that all machines of a fleet agree on. Names in the tier are keyed digests of it.
package struct TierQuestion: Sendable {
  /// The shared account's name; empty for none.
  package var account: String
  /// The normalised URL, or `key:` and the caller's own key. It contains no secret: a request with one is not shared.
  package var target: String
  /// `GET`, or the method of a request marked as a read.
  package var method: String
  /// What else distinguishes requests and is the same on every machine, as in `RequestKey.extra` without digests.
  package var extra: String
  /// The body of a request marked as a read, behind the fields that describe it. Only its digest, made with the fleet's
  /// key, leaves the machine.
  package var body: Data?
  /// The request's fields, for the variant.
  package var fields: HTTPFields
  /// Who answers, as pauses name it; empty where no pause matters.
  package var responder: String

  /// Makes a question.
  package init(
    account: String = "", target: String, method: String = "GET", extra: String = "", body: Data? = nil,
    fields: HTTPFields = HTTPFields(), responder: String = ""
  ) {
    self.account = account
    self.target = target
    self.method = method
    self.extra = extra
    self.body = body
    self.fields = fields
    self.responder = responder
  }
}

/// A number that the tier gives before an exchange's first byte is sent; later starts have larger ones.
package struct TierTicket: Sendable, Hashable {
  /// Microseconds of the tier's clock, or one more than the newest of the target.
  package var number: Int64
  /// The same instant in nanoseconds of the local clock since boot: a lower bound, never later than its arrival.
  package var bootNanoseconds: Int64
  /// Which keys of a shared account it was given under, in the engine's count; 0 where there are none.
  package var accountKeys: Int

  /// Makes a ticket.
  package init(number: Int64, bootNanoseconds: Int64, accountKeys: Int = 0) {
    self.number = number
    self.bootNanoseconds = bootNanoseconds
    self.accountKeys = accountKeys
  }
}

/// What the tier answers.
package enum TierReply: Sendable {
  /// It did not answer in time, or is not asked because it did not before.
  case silent(because: String)
  /// It answered, with the row if it has one that opens and matches, and with what is left of the responder's
  /// `Retry-After`, in milliseconds, if another machine was told of one.
  case answered(TierTicket, TierRow?, pause: Int64? = nil)
}

/// A row of the tier, opened and checked.
package struct TierRow: Sendable {
  /// The head. Its times are those of this machine: `receivedAt` is now less the row's age, `started` is the ticket's
  /// instant on the local clock since boot, with the local boot's identifier.
  package var head: ReceivedHead
  /// The names in `Vary`, in the format of the `vary` column.
  package var vary: String
  /// The row's ticket.
  package var ticket: Int64
  /// The length of the body in bytes.
  package var length: Int64
  /// The checksum of the body, as the row has it.
  package var checksum: Int64
  /// The body, where it came with the row.
  package var body: Data?

  /// Makes a row.
  package init(
    head: ReceivedHead, vary: String = "", ticket: Int64, length: Int64, checksum: Int64, body: Data?
  ) {
    self.head = head
    self.vary = vary
    self.ticket = ticket
    self.length = length
    self.checksum = checksum
    self.body = body
  }
}

/// A response to be shared.
package struct TierOffer: Sendable {
  /// The request it answers.
  package var question: TierQuestion
  /// The ticket of the exchange that brought it.
  package var ticket: TierTicket
  /// Its head as the local store has it.
  package var head: ReceivedHead
  /// The names in `Vary`.
  package var vary: String
  /// Its age in milliseconds when it is offered.
  package var age: Int64
  /// The whole body.
  package var body: Data

  /// Makes an offer.
  package init(
    question: TierQuestion, ticket: TierTicket, head: ReceivedHead, vary: String, age: Int64, body: Data
  ) {
    self.question = question
    self.ticket = ticket
    self.head = head
    self.vary = vary
    self.age = age
    self.body = body
  }
}

/// What became of an offer.
package enum TierOffered: Sendable, Equatable {
  /// The tier has it.
  case stored
  /// The tier has a newer row, or the target was invalidated meanwhile.
  case superseded
  /// The tier did not store it: it is silent, full, or may not be written.
  case refused(because: String)
}
