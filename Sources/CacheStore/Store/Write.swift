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
    /// The row, stored by a program, that is taken back: this one is put in its place, while it is there, as it was.
    package var takesBack: LocalRow?
    /// Whether the row has to be validated before it is reused.
    package var isInvalid = false
    /// Called, before the commit, with the row that is replaced, if there is one.
    package var onReplaced: (@Sendable (StoredResponse) -> Void)?
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

  /// A row that a program has stored: by its mark it is told from what others have put in its place.
  package struct LocalRow: Sendable, Hashable {
    let id: Int64
    let key: RequestKey
    let started: StartMark
    let body: StoredResponse.Body

    /// The row of a write that is committed.
    package init(_ write: Write, id: Int64, body: StoredResponse.Body) {
      self.id = id
      self.body = body
      key = write.key
      started = write.head.started
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
