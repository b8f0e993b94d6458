public import FoundationEssentials

extension ResponseStore {
  /// One response to be stored.
  public struct Write: Sendable {
    /// Where its body comes from.
    public enum Body: Sendable {
      /// The whole of it.
      case bytes(Data)
      /// Chunks that are committed already.
      case unfinished(UnfinishedBody)
      /// The body that the row has; where it has another by now, nothing is stored (`superseded`).
      case sameAs(StoredResponse.Body)
    }

    /// The account's row, as the exchange began with it.
    public var accountID: Int64
    /// What it answers; `key.account` is the account's name.
    public var key: RequestKey
    /// Whether it is a good response; one that is not never replaces one that is.
    public var isGood = true
    /// The request fields that `Vary` names, one `name: value` a line.
    public var variant = ""
    /// The names in `Vary`.
    public var vary = ""
    /// When the exchange began.
    public var started: StartMark
    /// Who answered, where it is not the URL asked.
    public var responseURL: String?
    /// `1.0`, `1.1` or `2`.
    public var httpVersion = "1.1"
    /// The status code.
    public var status: Int
    /// The reason phrase.
    public var reason = ""
    /// The fields to store.
    public var fields: HTTPFields
    /// When the request was sent, in milliseconds since 1970-01-01 UTC.
    public var requestedAt: Int64
    /// When the response arrived, in milliseconds since 1970-01-01 UTC.
    public var receivedAt: Int64
    /// When the body last became another, in milliseconds since 1970-01-01 UTC.
    public var changedAt: Int64
    /// What the exchange took, in milliseconds.
    public var exchangeMilliseconds: Int64 = 0
    /// Whether the row is to be pinned; `false` leaves a pinned row pinned.
    public var isPinned = false
    /// Tags to add to the row.
    public var tags: [String] = []
    /// The body.
    public var body: Body

    /// Makes a write of what every response has; the rest is set afterwards.
    public init(
      accountID: Int64, key: RequestKey, started: StartMark, status: Int, fields: HTTPFields,
      receivedAt: Int64,
      body: Body
    ) {
      self.accountID = accountID
      self.key = key
      self.started = started
      self.status = status
      self.fields = fields
      self.requestedAt = receivedAt
      self.receivedAt = receivedAt
      self.changedAt = receivedAt
      self.body = body
    }

    /// Makes a whole write.
    public init(
      accountID: Int64, key: RequestKey, isGood: Bool, variant: String, vary: String, started: StartMark,
      responseURL: String?, httpVersion: String, status: Int, reason: String, fields: HTTPFields,
      requestedAt: Int64, receivedAt: Int64, changedAt: Int64, exchangeMilliseconds: Int64,
      isPinned: Bool = false,
      tags: [String] = [], body: Body
    ) {
      self.accountID = accountID
      self.key = key
      self.isGood = isGood
      self.variant = variant
      self.vary = vary
      self.started = started
      self.responseURL = responseURL
      self.httpVersion = httpVersion
      self.status = status
      self.reason = reason
      self.fields = fields
      self.requestedAt = requestedAt
      self.receivedAt = receivedAt
      self.changedAt = changedAt
      self.exchangeMilliseconds = exchangeMilliseconds
      self.isPinned = isPinned
      self.tags = tags
      self.body = body
    }
  }

  /// What became of a write.
  public enum Overwritten: Sendable, Hashable {
    /// It is committed.
    case stored(rowID: Int64, body: StoredResponse.Body)
    /// A later exchange, removal or unsafe request came first, or the body meant by `sameAs` is gone.
    case superseded
  }
}
