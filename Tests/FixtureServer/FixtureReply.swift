/// A response to send; the test controls every part of the message.
///
/// `Content-Length` (or `Transfer-Encoding: chunked`) is added if the status allows a body and the test gave neither;
/// nothing else is added, not even `Date`.
public struct FixtureReply: Sendable, Hashable {
  /// The status code.
  public var status: Int
  /// The reason phrase.
  public var reason: String
  /// The field lines, in order.
  public var fields: [FixtureField]
  /// The body; not sent in answer to HEAD.
  public var body: [UInt8]
  /// Sends the body chunked, in chunks of this many bytes, when set.
  public var chunkSize: Int?
  /// The version in the status line.
  public var version: String
  /// `false` sends `Connection: close` and closes after the reply.
  public var keepAlive: Bool

  /// Builds a reply.
  public init(
    status: Int = 200, reason: String? = nil, fields: KeyValuePairs<String, String> = [:],
    body: [UInt8] = [], chunkSize: Int? = nil, version: String = "HTTP/1.1", keepAlive: Bool = true
  ) {
    self.status = status
    self.reason = reason ?? Self.reasons[status] ?? "Status"
    self.fields = fields.map { FixtureField($0.key, $0.value) }
    self.body = body
    self.chunkSize = chunkSize
    self.version = version
    self.keepAlive = keepAlive
  }

  /// 200 with a text body.
  public static func ok(_ body: String, _ fields: KeyValuePairs<String, String> = [:]) -> Self {
    Self(fields: fields, body: Array(body.utf8))
  }

  /// 200 with a body of bytes.
  public static func ok(_ body: some Sequence<UInt8>, _ fields: KeyValuePairs<String, String> = [:]) -> Self {
    Self(fields: fields, body: Array(body))
  }

  /// Any status, with a short text body unless the status has none.
  public static func status(
    _ status: Int, _ body: String = "", _ fields: KeyValuePairs<String, String> = [:]
  ) -> Self {
    Self(status: status, fields: fields, body: Array(body.utf8))
  }

  /// 304 with the given validator.
  public static func notModified(etag: String? = nil, _ fields: KeyValuePairs<String, String> = [:]) -> Self {
    var reply = Self(status: 304, fields: fields)
    if let etag { reply.fields.append(FixtureField("ETag", etag)) }
    return reply
  }

  /// A redirect.
  public static func redirect(
    to location: String, status: Int = 302, _ fields: KeyValuePairs<String, String> = [:]
  ) -> Self {
    var reply = Self(status: status, fields: fields)
    reply.fields.append(FixtureField("Location", location))
    return reply
  }

  /// 200 with validators, or 304 if the request's validators match.
  ///
  /// As in RFC 9110 section 13.2.2, `If-Modified-Since` counts only without `If-None-Match`. Dates are compared as
  /// text, since a cache repeats the date it was given.
  public static func validated(
    _ body: String, etag: String? = nil, lastModified: String? = nil,
    for request: FixtureRequest, _ fields: KeyValuePairs<String, String> = [:]
  ) -> Self {
    var reply = Self(fields: fields, body: Array(body.utf8))
    if let etag { reply.fields.append(FixtureField("ETag", etag)) }
    if let lastModified { reply.fields.append(FixtureField("Last-Modified", lastModified)) }
    if request.names(etag: etag, lastModified: lastModified) {
      reply.status = 304
      reply.reason = "Not Modified"
      reply.body = []
    }
    return reply
  }

  /// The same reply sent in chunks.
  public func chunked(by size: Int = 1_024) -> Self {
    var copy = self
    copy.chunkSize = size
    return copy
  }

  /// The same reply with one more field.
  public func adding(_ name: String, _ value: String) -> Self {
    var copy = self
    copy.fields.append(FixtureField(name, value))
    return copy
  }

  /// The same reply, after which the connection is closed.
  public func closing() -> Self {
    var copy = self
    copy.keepAlive = false
    return copy
  }

  private static let reasons = [
    100: "Continue", 103: "Early Hints", 200: "OK", 201: "Created", 202: "Accepted",
    203: "Non-Authoritative Information",
    204: "No Content", 206: "Partial Content", 301: "Moved Permanently", 302: "Found", 303: "See Other",
    304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden", 404: "Not Found", 408: "Request Timeout", 410: "Gone", 412: "Precondition Failed",
    416: "Range Not Satisfiable", 429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway",
    503: "Service Unavailable", 504: "Gateway Timeout",
  ]
}

extension FixtureRequest {
  func names(etag: String?, lastModified: String?) -> Bool {
    if let wanted = self["If-None-Match"] {
      guard let etag else { return wanted == "*" }
      return wanted == "*" || wanted.split(separator: ",").contains { weak($0) == weak(etag[...]) }
    }
    guard let since = self["If-Modified-Since"], let lastModified else { return false }
    return since == lastModified
  }

  private func weak(_ tag: Substring) -> Substring {
    let bare = tag.drop { $0 == " " }
    let trimmed = bare.lastIndex { $0 != " " }.map { bare[...$0] } ?? bare
    return trimmed.hasPrefix("W/") ? trimmed.dropFirst(2) : trimmed
  }
}
