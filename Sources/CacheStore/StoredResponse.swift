public import PlatformFoundation

/// One row of `last_request`: a response as it was stored, and the beginning of its body.
///
/// Instants are milliseconds since 1970-01-01 UTC. Values of this type have passed the row's checksum; the first
/// chunk has passed its own.
public struct StoredResponse: Sendable, Hashable {
  /// Where the body's bytes are.
  public struct Body: Sendable, Hashable {
    /// The row of `body`; identifiers are never reused.
    public var id: Int64
    /// The whole length in bytes.
    public var length: Int64
    /// The first chunk: the whole body where `length` is at most one chunk.
    public var firstChunk: Data
    /// The checksum over the whole body: what tells two contents under one identifier apart, since a body of one
    /// chunk is rewritten in place.
    public var checksum: Int64
    /// The row of the account it belongs to: what tells a body that went with its account from one that was replaced.
    public var accountID: Int64?

    /// Whether the first chunk is all there is.
    public var isWhole: Bool { Int64(firstChunk.count) == length }

    /// Makes a description of a stored body.
    public init(id: Int64, length: Int64, firstChunk: Data, checksum: Int64 = 0, accountID: Int64? = nil) {
      self.id = id
      self.accountID = accountID
      self.length = length
      self.firstChunk = firstChunk
      self.checksum = checksum
    }
  }

  /// The row's identifier.
  public var id: Int64
  /// The account's row identifier, which is its generation.
  public var accountID: Int64
  /// Whether this is the last good response (a 2xx other than 206); `false` for what only the `http` policy reuses.
  public var isGood: Bool
  /// The request fields that `Vary` names, one `name: value` a line.
  public var variant: String
  /// The names in `Vary`, lower case, sorted, by comma; `*` for `Vary: *`.
  public var vary: String
  /// What was said before the body, by whom and when.
  public var head: ResponseHead
  /// When the body last became another.
  public var changedAt: Int64
  /// Whether an unsafe request to the target has made the row invalid (RFC 9111 section 4.4).
  public var isInvalid: Bool
  /// Whether the row is exempt from eviction.
  public var isPinned: Bool
  /// The body.
  public var body: Body

  /// Whether the program itself has stored it: no origin has said it.
  public var isLocal: Bool { httpVersion == Self.localVersion }
  /// The version of HTTP in which that came: none.
  package static let localVersion = "0"

  /// Whether it came with somebody else's file, and no exchange has confirmed it since: what it says of itself, its
  /// validators included, is that file's word.
  public var isImported: Bool { started.boot == StartMark.imported.boot }

  /// Whether no exchange of this machine has brought or confirmed it, so that none can: validators are believed only from
  /// who sent the bytes.
  package var isUnconfirmed: Bool { isImported || isLocal }

  /// Makes a row's value.
  ///
  /// - Parameter changedAt: Where it is another instant than the head's `receivedAt`.
  public init(
    id: Int64, accountID: Int64, isGood: Bool = true, variant: String = "", vary: String = "",
    head: ResponseHead, changedAt: Int64? = nil, isInvalid: Bool = false, isPinned: Bool = false, body: Body
  ) {
    self.id = id
    self.accountID = accountID
    self.isGood = isGood
    self.variant = variant
    self.vary = vary
    self.head = head
    self.changedAt = changedAt ?? head.receivedAt
    self.isInvalid = isInvalid
    self.isPinned = isPinned
    self.body = body
  }

  /// A row without anything in it, to be filled.
  static var blank: StoredResponse {
    StoredResponse(
      id: 0, accountID: 0,
      head: ResponseHead(
        status: 0, fields: HTTPFields(), started: StartMark(boot: "", nanoseconds: 0), receivedAt: 0),
      body: Body(id: 0, length: 0, firstChunk: Data()))
  }
}

/// One row as a list shows it: everything but the body.
public struct StoredEntry: Sendable, Hashable {
  /// The row's identifier.
  public var rowID: Int64
  /// What it answers.
  public var key: RequestKey
  /// The row; its body's first chunk is left out.
  public var response: StoredResponse
  /// Whether the row's checksum matches; where it does not, nothing else here can be relied on.
  public var isSound: Bool
  /// When it was last delivered, in milliseconds since 1970-01-01 UTC.
  public var usedAt: Int64?
  /// Its tags, sorted.
  public var tags: [String]
}
