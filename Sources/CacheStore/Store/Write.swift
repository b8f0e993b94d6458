package import PlatformFoundation

extension ResponseStore {
  /// One response to be stored.
  package struct Write: Sendable {
    /// Where its body comes from.
    package enum Body: Sendable {
      /// The whole of it.
      case bytes(Data)
      /// Chunks that are committed already.
      case unfinished(UnfinishedBody)
      /// The body the row already has; where the row has another by now, nothing is stored (`superseded`).
      case sameAs(StoredResponse.Body)
    }

    /// The identifier of the account's row when the exchange began.
    package var accountID: Int64
    /// The request it answers; `key.account` is the account's name.
    package var key: RequestKey
    /// Whether it is a good response. A response that is not good never replaces a good one.
    package var isGood = true
    /// The request fields that `Vary` names, one `name: value` a line.
    package var variant = ""
    /// The names in `Vary`.
    package var vary = ""
    /// The response's head, its sender and its times.
    package var head: ReceivedHead
    /// When the body last changed, in milliseconds since 1970-01-01 UTC.
    package var changedAt: Int64
    /// The pin and the tags that the row gets.
    package var marks = RowMarks()
    /// Whether a row of the key with that variant, and the names in `Vary` it is of, answers the same request: the
    /// response takes its place too. Without it, only the row of the response's own variant is replaced.
    package var replaces: (@Sendable (_ variant: String, _ vary: String) -> Bool)?
    /// The body.
    package var body: Body

    /// Makes a write of a good response without variants; the other properties are set afterwards.
    package init(accountID: Int64, key: RequestKey, head: ReceivedHead, body: Body) {
      self.accountID = accountID
      self.key = key
      self.head = head
      changedAt = head.receivedAt
      self.body = body
    }

    /// Makes a write of the parts every response has; the other properties are set afterwards.
    package init(
      accountID: Int64, key: RequestKey, started: StartMark, status: Int, fields: HTTPFields,
      receivedAt: Int64, body: Body
    ) {
      let head = ReceivedHead(status: status, fields: fields, started: started, receivedAt: receivedAt)
      self.init(accountID: accountID, key: key, head: head, body: body)
    }
  }

  /// The result of a write, or of a freshening.
  package enum Overwritten: Sendable, Hashable {
    /// The row is committed.
    case stored(rowID: Int64, body: StoredResponse.Body)
    /// A later exchange, removal or unsafe request came first, or the row no longer has the `sameAs` body.
    case superseded

    /// Whether the row is committed.
    package var isStored: Bool { self != .superseded }
  }
}
