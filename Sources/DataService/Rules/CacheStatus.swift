/// How this cache handled a request, as the `Cache-Status` field reports it (RFC 9211).
package struct CacheStatus: Sendable, Hashable {
  /// Why a request was forwarded (section 2.2).
  package enum Forward: String, Sendable, Hashable {
    /// The request bypasses the store, or its policy requires the origin.
    case bypass
    /// Answers to this method are not stored.
    case method
    /// Nothing is stored under the key.
    case uriMiss = "uri-miss"
    /// Rows are stored under the key, but none for these request fields.
    case varyMiss = "vary-miss"
    /// No stored response is usable.
    case miss
    /// A fresh response is stored, but the request's directives reject it.
    case request
    /// The stored response was stale.
    case stale
    /// Only a part is stored.
    case partial
  }

  /// Whether the answer came from the store without an exchange.
  package var isHit = false
  /// Why there was an exchange.
  package var forward: Forward?
  /// The origin's status, if it differs from the delivered one.
  package var forwardStatus: Int?
  /// Whole seconds of freshness left; negative when stale.
  package var timeToLive: Int64?
  /// Whether the origin's answer was stored.
  package var isStored = false
  /// Whether the answer comes from another load's exchange.
  package var isCollapsed = false
  /// Implementation-specific information: the `detail` parameter.
  package var detail: String?

  /// Makes the status of a delivery.
  package init(
    isHit: Bool = false, forward: Forward? = nil, forwardStatus: Int? = nil, timeToLive: Int64? = nil,
    isStored: Bool = false, isCollapsed: Bool = false, detail: String? = nil
  ) {
    self.isHit = isHit
    self.forward = forward
    self.forwardStatus = forwardStatus
    self.timeToLive = timeToLive
    self.isStored = isStored
    self.isCollapsed = isCollapsed
    self.detail = detail
  }

  /// The field's value, a structured list of one member.
  package var formatted: String {
    var text = "cachefetch"
    if isHit { text += "; hit" }
    if !isHit, let forward { text += "; fwd=\(forward.rawValue)" }
    if let forwardStatus { text += "; fwd-status=\(forwardStatus)" }
    if let timeToLive { text += "; ttl=\(timeToLive)" }
    if isStored { text += "; stored" }
    if isCollapsed { text += "; collapsed" }
    if let detail { text += "; detail=\(Self.item(detail))" }
    return text
  }

  /// The text as a token if it is one, otherwise as a string. Both allow visible ASCII only (RFC 8941 section 3.3).
  private static func item(_ text: String) -> String {
    let visible = String(decoding: text.utf8.filter { $0 >= 0x20 && $0 < 0x7F }, as: UTF8.self)
    let beginsLikeToken =
      visible.utf8.first.map { $0 == 0x2A || ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A) } ?? false
    return beginsLikeToken && FieldList.isToken(visible) ? visible : FieldList.quoted(visible)
  }
}
