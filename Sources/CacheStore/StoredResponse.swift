public import PlatformFoundation

/// One row of `last_request`: a response as it was stored, and the beginning of its body.
///
/// Instants are milliseconds since 1970-01-01 UTC. A value read from the store has passed the row's checksum, and its
/// first chunk has passed its own.
package struct StoredResponse: Sendable, Hashable {
  /// The stored body and its first chunk.
  package struct Body: Sendable, Hashable {
    /// The row of `body`; identifiers are never reused.
    package var id: Int64
    /// The whole length in bytes.
    package var length: Int64
    /// The first chunk: the whole body where `length` is at most one chunk.
    package var firstChunk: Data
    /// The checksum over the whole body. It distinguishes two contents under one identifier, since a body of one
    /// chunk is rewritten in place.
    package var checksum: Int64
    /// The identifier of its account's row. It distinguishes a body deleted at sign-out from one that was replaced.
    package var accountID: Int64?
    /// What keeps a long body in the store for its readers.
    package var hold = BodyHold()

    /// Whether the first chunk is the whole body.
    package var isWhole: Bool { Int64(firstChunk.count) == length }

    /// Makes a description of a stored body.
    package init(id: Int64, length: Int64, firstChunk: Data, checksum: Int64 = 0, accountID: Int64? = nil) {
      self.id = id
      self.accountID = accountID
      self.length = length
      self.firstChunk = firstChunk
      self.checksum = checksum
    }
  }

  /// The row's identifier.
  package var id: Int64
  /// The account's row identifier, which is its generation.
  package var accountID: Int64
  /// Whether this is the last good response (a 2xx other than 206); `false` for what only the `http` policy reuses.
  package var isGood: Bool
  /// The request fields that `Vary` names, one `name: value` a line.
  package var variant: String
  /// The names in `Vary`, lower case, sorted, by comma; `*` for `Vary: *`.
  package var vary: String
  /// The response's head, its sender and its times.
  @usableFromInline package var head: ReceivedHead
  /// When the body last changed.
  package var changedAt: Int64
  /// Whether the row has to be validated before it is reused: an unsafe request to the target succeeded (RFC 9111
  /// section 4.4), `DataService.invalidate(_:)` selected it, an answer to HEAD described another representation (section
  /// 4.3.5), or the origin answered with 404, 410 or a 2xx that was not kept.
  package var isInvalid: Bool
  /// Whether the row is exempt from eviction.
  package var isPinned: Bool
  /// The body.
  package var body: Body
  /// Whether another machine's exchange has just brought it through a shared cache, whose rules then bind it too.
  package var isFromSharedCache = false

  /// Whether the program itself stored the response, rather than an origin sending it.
  package var isLocal: Bool { httpVersion == Self.localVersion }
  /// The HTTP version of such a response: none.
  package static let localVersion = "0"

  /// Whether it was imported from a file and no exchange has confirmed it since: its fields and validators are only
  /// as trustworthy as that file.
  package var isImported: Bool { started.boot == StartMark.imported.boot }

  /// Whether no exchange of this machine sent or confirmed it. It cannot be revalidated, unless a program that has stored
  /// it said that its validators came with the bytes: others are not trusted.
  package var isUnconfirmed: Bool { isImported || isLocal }

  /// Makes a row's value.
  ///
  /// - Parameter changedAt: Where it differs from the head's `receivedAt`.
  package init(
    id: Int64, accountID: Int64, isGood: Bool = true, variant: String = "", vary: String = "",
    head: ReceivedHead, changedAt: Int64? = nil, isInvalid: Bool = false, isPinned: Bool = false, body: Body
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

  /// An empty row, to be filled.
  static var blank: StoredResponse {
    StoredResponse(
      id: 0, accountID: 0,
      head: ReceivedHead(
        status: 0, fields: HTTPFields(), started: StartMark(boot: "", nanoseconds: 0), receivedAt: 0),
      body: Body(id: 0, length: 0, firstChunk: Data()))
  }
}

/// Keeps a replaced body from being collected for as long as a value that describes the body lives. It is no part of
/// that value: all are equal.
package struct BodyHold: Sendable, Hashable {
  var keeper: (any AnyObject & Sendable)?
  package static func == (_: Self, _: Self) -> Bool { true }
  package func hash(into _: inout Hasher) {}
}

/// One row without its body, for lists.
public struct StoredEntry: Sendable, Hashable {
  /// The row's identifier.
  package var rowID: Int64
  /// The request it answers.
  package var key: RequestKey
  /// The row; its body's first chunk is left out.
  package var response: StoredResponse
  /// Whether the row's checksum matches; where it does not, no other property is reliable.
  package var isSound: Bool
  /// When it was last delivered, in milliseconds since 1970-01-01 UTC.
  package var usedAtMilliseconds: Int64?
  /// Its tags, sorted.
  public var tags: [String]

  /// The normalised URL that was asked, or `key:` and the caller's own key.
  public var target: String { key.target }
  /// The account: empty for none, the caller's name, or `auto:` and a digest of the credentials.
  public var account: String { key.account }
  /// The status of the stored response.
  public var status: Int { response.status }
  /// Its fields.
  public var fields: HTTPFields { response.fields }
  /// The length of its body in bytes.
  public var bodyLength: Int64 { response.body.length }
  /// When it was received, or last confirmed.
  public var receivedAt: Date { Date(milliseconds: response.receivedAt) }
  /// When it was last delivered; `nil` where it never was.
  public var usedAt: Date? { usedAtMilliseconds.map(Date.init(milliseconds:)) }
  /// Whether it is exempt from eviction.
  public var isPinned: Bool { response.isPinned }
  /// Whether it has to be confirmed before it counts as young.
  public var isInvalid: Bool { response.isInvalid }
  /// Whether the program itself has stored it, rather than an origin sent it.
  public var isLocal: Bool { response.isLocal }
}

extension Date {
  /// From milliseconds since 1970-01-01 UTC.
  package init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
