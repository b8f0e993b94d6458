/// A response without its body: status, fields, sender and times. Exchanges and stored rows use the same type.
///
/// Instants are milliseconds since 1970-01-01 UTC.
@usableFromInline package struct ReceivedHead: Sendable, Hashable {
  /// The URL that answered, where that is not the requested URL; the only URL the validator is sent to.
  @usableFromInline package var url: String?
  /// `1.0`, `1.1`, `2` or `3`.
  @usableFromInline package var version: String
  /// The status code.
  @usableFromInline package var status: Int
  /// The reason phrase; empty where there was none.
  @usableFromInline package var reason: String
  /// The response's fields; in a stored response without hop-by-hop fields, `Set-Cookie` and secret fields.
  @usableFromInline package var fields: HTTPFields
  /// Whether the body was freed of the coding that `Content-Encoding` names.
  @usableFromInline package var isDecoded: Bool
  /// When the exchange began.
  @usableFromInline package var started: StartMark
  /// `request_time` of RFC 9111 section 4.2.3, of the newest exchange, a 304 included.
  @usableFromInline package var requestedAt: Int64
  /// `response_time` of RFC 9111 section 4.2.3, of the newest exchange, a 304 included.
  @usableFromInline package var receivedAt: Int64
  /// The duration of the exchange, in milliseconds.
  @usableFromInline package var exchangeMilliseconds: Int64

  /// When the exchange ended.
  package var endedAt: Int64 {
    get { requestedAt &+ exchangeMilliseconds }
    set { exchangeMilliseconds = newValue &- requestedAt }
  }

  /// Makes a head.
  ///
  /// - Parameters:
  ///   - requestedAt: Where it differs from `receivedAt`.
  ///   - endedAt: When the exchange ended, where that differs from `receivedAt`.
  package init(
    status: Int, reason: String = "", fields: HTTPFields, isDecoded: Bool = false, version: String = "1.1",
    url: String? = nil, started: StartMark, requestedAt: Int64? = nil, receivedAt: Int64,
    endedAt: Int64? = nil
  ) {
    self.url = url
    self.version = version
    self.status = status
    self.reason = reason
    self.fields = fields
    self.isDecoded = isDecoded
    self.started = started
    self.requestedAt = requestedAt ?? receivedAt
    self.receivedAt = receivedAt
    exchangeMilliseconds = (endedAt ?? receivedAt) - self.requestedAt
  }

  /// Replaces the fields and times by those of a 304 or a HEAD response. The rest stays as received with the body.
  mutating func freshen(by other: ReceivedHead) {
    fields = other.fields
    started = other.started
    requestedAt = other.requestedAt
    receivedAt = other.receivedAt
    exchangeMilliseconds = other.exchangeMilliseconds
  }
}

extension StoredResponse {
  /// When the exchange that wrote the row began.
  @inlinable package var started: StartMark { head.started }
  /// The URL that answered, where redirects were followed; the only URL the validator is sent to.
  @inlinable package var responseURL: String? { head.url }
  /// `1.0`, `1.1`, `2` or `3`.
  @inlinable package var httpVersion: String { head.version }
  /// The status code.
  @inlinable public var status: Int { head.status }
  /// The reason phrase; empty where there was none.
  @inlinable package var reason: String { head.reason }
  /// The response's fields, without hop-by-hop fields, `Set-Cookie` and secret fields.
  @inlinable public var fields: HTTPFields { head.fields }
  /// `request_time` of RFC 9111 section 4.2.3, of the newest exchange, a 304 included.
  @inlinable package var requestedAt: Int64 { head.requestedAt }
  /// `response_time` of RFC 9111 section 4.2.3, of the newest exchange, a 304 included.
  @inlinable public var receivedAt: Int64 { head.receivedAt }
  /// The duration of the exchange, in milliseconds.
  @inlinable package var exchangeMilliseconds: Int64 { head.exchangeMilliseconds }
}

/// The instant an exchange began, on a clock that cannot be set: nanoseconds since boot, and the boot's identifier.
///
/// Within one boot a later mark never loses to an earlier one. Marks of two boots do not compare, and the write in
/// progress wins (law 8).
@usableFromInline package struct StartMark: Hashable, Sendable {
  /// The boot's identifier.
  package var boot: String
  /// Nanoseconds since that boot, suspended time included.
  package var nanoseconds: Int64

  /// The mark of imported responses, which no exchange of this machine brought. It compares with no exchange's mark:
  /// every exchange overwrites such a row, and none supersedes an import.
  package static let imported = StartMark(boot: "import", nanoseconds: 0)

  /// Makes a mark.
  package init(boot: String, nanoseconds: Int64) {
    self.boot = boot
    self.nanoseconds = nanoseconds
  }
}

extension StartMark {
  /// Whether this exchange began before the other; marks of two boots do not compare (law 8).
  package func isBefore(_ other: StartMark) -> Bool { boot == other.boot && nanoseconds < other.nanoseconds }

  // The commit that stores another machine's row records that it came from there: its mark is odd, and those
  // of this machine's exchanges are even. A nanosecond decides nothing else. A record made after the commit would be
  // missing if the process was killed in between, and a follower would deliver the row as fresh.

  /// The mark of an exchange of this machine.
  package var even: StartMark { StartMark(boot: boot, nanoseconds: nanoseconds & ~1) }

  /// The mark of a row that another machine's exchange brought; no later than this one.
  package var odd: StartMark { StartMark(boot: boot, nanoseconds: max(1, (nanoseconds - 1) | 1)) }

  /// Whether the row came from another machine, and no exchange of this machine has confirmed it since.
  package var isFromElsewhere: Bool { nanoseconds & 1 == 1 }
}
