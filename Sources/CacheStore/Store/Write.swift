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
    /// What was said before the body, by whom and when.
    public var head: ResponseHead
    /// When the body last became another, in milliseconds since 1970-01-01 UTC.
    public var changedAt: Int64
    /// Whether the row is to be pinned; `false` leaves a pinned row pinned.
    public var isPinned = false
    /// Tags to add to the row.
    public var tags: [String] = []
    /// The body.
    public var body: Body

    /// Makes a write of a good response without variants and with a body of its own; the rest is set afterwards.
    public init(accountID: Int64, key: RequestKey, head: ResponseHead, body: Body) {
      self.accountID = accountID
      self.key = key
      self.head = head
      changedAt = head.receivedAt
      self.body = body
    }

    /// Makes a write of what every response has; the rest is set afterwards.
    public init(
      accountID: Int64, key: RequestKey, started: StartMark, status: Int, fields: HTTPFields,
      receivedAt: Int64, body: Body
    ) {
      let head = ResponseHead(status: status, fields: fields, started: started, receivedAt: receivedAt)
      self.init(accountID: accountID, key: key, head: head, body: body)
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
