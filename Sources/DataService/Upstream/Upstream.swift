package import CacheStore
package import PlatformFoundation

/// What an exchange asks before the origin: the last good responses of other machines.
///
/// No function throws, and none waits longer than it says: an upstream that is down, slow, full or lying has no
/// candidate, so that it costs misses and nothing else (law 9). What belongs to an exchange is called on the service's
/// network thread.
package protocol Upstream: AnyObject, Sendable {
  /// What the trace calls it.
  var name: String { get }

  /// Whether nothing is under way that no delivery waits for.
  var isIdle: Bool { get }

  /// One question before the origin is asked, once this process leads for its machine. A long body of the candidate
  /// takes no longer than half of what is left until the deadline, in nanoseconds since boot.
  func turn(_ question: UpstreamQuestion, until deadline: Int64) async -> UpstreamTurn

  /// Whether other machines get an answer; `nil` is the turn of an exchange that has not asked.
  func verdict(on answer: UpstreamAnswer, in turn: UpstreamTurn?) -> DataService.Shared

  /// Whether other machines would get an answer such as the stored one; without one, whether the upstream is asked.
  func verdict(on row: StoredResponse?, to question: UpstreamQuestion) -> DataService.Shared

  /// Offers an answer that is committed here, as its row has it. No delivery waits for that.
  func offer(
    _ head: ReceivedHead, vary: String, in turn: UpstreamTurn,
    body: @escaping @Sendable (_ limit: Int64) async throws(DataServiceError) -> Data)

  /// Tells the others of the pause (`Retry-After`) that a responder has asked this exchange for.
  func share(_ pause: Pause, of responder: String, in turn: UpstreamTurn)

  /// Counts a candidate that is in the local store.
  func noteStored()

  /// Invalidates every row of the targets: after a removal here, or an unsafe request.
  /// - Returns: The task that counts those of which it was not confirmed; nobody has to wait for it.
  @discardableResult func invalidate(_ targets: [UpstreamTarget], isRemoval: Bool) -> Task<Int, Never>

  /// Makes every row of an account unreadable, for all machines and for good.
  /// - Returns: Whether that is confirmed; `nil` where it has no part in it.
  func signOut(_ account: String) async -> Bool?

  /// Examines it for the check of a store.
  func examine() async -> [StoreFinding]

  /// Writes what it has counted beside the store, on the calling thread.
  func leaveCounts()

  /// Waits a moment for what is under way, then ends it.
  func close() async
}

/// What a service gives its upstream to work with.
package struct UpstreamHost: Sendable {
  /// The service's network thread.
  package let thread: NetworkThread
  /// The service's clock.
  package let timekeeper: any Timekeeper
  /// The store, beside which its processes share counts and a mark.
  package let store: ResponseStore
  /// The names of secrets.
  package let secrets: SecretList
  /// How long the end of the service waits for what is under way.
  package let goodbye: Duration
  /// Writes a line to the trace.
  package let trace: @Sendable (String) -> Void
  /// Reports a problem that stops no delivery.
  package let warn: @Sendable (DataService.Warning) -> Void
}

/// A request, as far as it matters to other machines.
package struct UpstreamQuestion: Sendable {
  /// The key, with the normalised target and the account.
  package let key: RequestKey
  /// The request as the caller made it.
  package let request: DataService.Request
  /// The fields sent, with Basic credentials of the URL's user-info.
  package let fields: HTTPFields
  /// The body of a request marked as a read, behind the fields that describe it, without secrets.
  package let content: Data?
  /// Who answers, as pauses name it.
  package let responder: String
  /// Whether the request bypasses the store.
  package let isPassThrough: Bool
  /// Whether an answer that was asked for before will do.
  package let mayFollow: Bool
  /// Whether the URL is of the scheme `http`.
  package let isPlainHTTP: Bool
  /// Whether the URL has user-info or a secret query value.
  package let hasSecretURL: Bool
}

/// What the upstream said before the origin is asked.
package struct UpstreamTurn: Sendable {
  /// The newest response of another machine that matches.
  package var candidate: UpstreamCandidate?
  /// The instant, in nanoseconds since boot, from which this exchange counts for all machines.
  package var started: Int64?
  /// What is left, in milliseconds, of a pause that another machine was asked for.
  package var pause: Int64?
  /// The upstream's own.
  package let context: any Sendable

  /// Makes a turn without a candidate.
  package init(context: any Sendable) { self.context = context }
}

/// A response of another machine.
package struct UpstreamCandidate: Sendable {
  /// The head, with times of this machine, and an odd start mark. `receivedAt` accounts for the age that it has.
  package let head: ReceivedHead
  /// The names in `Vary`, in the format of the `vary` column.
  package let vary: String
  /// The length and the checksum of the body.
  package let length, checksum: Int64
  /// Fetches the body; `nil` where it is gone, does not open, or is late.
  package let body: @Sendable () async -> Data?

  /// Makes a candidate.
  package init(
    head: ReceivedHead, vary: String, length: Int64, checksum: Int64,
    body: @escaping @Sendable () async -> Data?
  ) {
    (self.head, self.vary, self.length, self.checksum, self.body) = (head, vary, length, checksum, body)
  }
}

/// An answer, as far as it matters to other machines.
package struct UpstreamAnswer: Sendable {
  /// The status.
  package let status: Int
  /// The fields as received.
  package let fields: HTTPFields
  /// The length of the body, where it is known.
  package let length: Int64?
  /// The way to it.
  package let path: AnswerPath
  /// Whether this exchange brought it, it is good, and it is in the store.
  package let isOwn, isGood, isKept: Bool
  /// Whether its exchange may be shared at all.
  package let isShareable: Bool
}

/// All responses of a target, for one account.
package struct UpstreamTarget: Sendable, Hashable {
  /// The account's name; empty for none.
  package let account: String
  /// The normalised target.
  package let target: String
  /// Whose pause ends too; empty for nobody's.
  package var responder = ""
}

extension StoredResponse {
  /// The identifier of a candidate that is not in the local store, where the first is 1.
  private static let candidateID: Int64 = -1

  /// Whether the row is in the local store.
  var isInStore: Bool { id != Self.candidateID }

  /// A candidate in the terms of the local store, with its whole body in memory.
  ///
  /// - Parameter variant: The request's fields that `Vary` names, in the format of the `variant` column.
  init(_ candidate: UpstreamCandidate, body: Data, variant: String) {
    var head = candidate.head
    // Neither `Age` nor the exchange's delay may be added again.
    head.fields.remove("Age")
    head.requestedAt = head.receivedAt
    self.init(
      id: Self.candidateID, accountID: 0, variant: variant, vary: candidate.vary, head: head,
      body: Body(
        id: Self.candidateID, length: candidate.length, firstChunk: body, checksum: candidate.checksum))
    isFromSharedCache = true
  }
}
