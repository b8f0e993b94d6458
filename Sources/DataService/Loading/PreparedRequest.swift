internal import CacheStore
internal import FoundationEssentials

/// A request taken apart once, on the caller's thread: what is sent, under which key it is stored, and what tells
/// exchanges apart. A class, since it goes through many hands and never changes.
final class PreparedRequest: Sendable {
  let request: DataService.Request
  /// Where the request goes, without user-info and fragment.
  let url: NormalisedURL
  /// What is sent, Basic credentials from the URL's user-info included.
  let fields: HTTPFields
  let key: RequestKey
  /// Whether RFC 9111 decides, as the `http` policy asks.
  let isHTTP: Bool
  /// Whether the store stays out of it.
  let isPassThrough: Bool
  /// Digests what must distinguish keys but never be written.
  let digest: Digest

  /// What may be shown of the URL: without user-info, secret query values replaced by digests.
  let shownURL: String

  /// A keyed digest of bytes.
  typealias Digest = @Sendable (_ bytes: [UInt8]) -> String

  /// - Throws: `invalidRequest` naming the thing that is wrong.
  init(
    _ request: consuming DataService.Request, policy: FetchPolicy, secrets: SecretList,
    digest: @escaping Digest
  ) throws(DataServiceError) {
    url = try NormalisedURL(request.url.absoluteString)
    self.digest = digest
    var fields = request.fields
    if url.userInfo != nil, !fields.contains("Authorization") {
      fields.append("Authorization", "Basic " + Self.basicCredentials(request.url))
    }
    if let refused = fields.refused {
      throw DataServiceError(.invalidRequest, refused, hint: "a field is one line, “Name: value”")
    }
    let method = request.method.rawValue
    guard !method.isEmpty, method.utf8.allSatisfy(\.isTokenByte) else {
      throw DataServiceError(
        .invalidRequest, "“\(method)” is not a method", hint: "a method is a word such as GET or POST")
    }
    self.fields = fields
    isHTTP = policy == .http
    isPassThrough = PassThrough.isPassThrough(
      method: request.method, fields: fields, isRead: request.isRead, keepsAnyway: request.keepsAnyway,
      underHTTP: policy == .http)
    key = KeyRule.key(for: request, url: url, fields: fields, secrets: secrets, digest: digest)
    shownURL = request.key == nil ? key.target : KeyRule.redacted(url, secrets: secrets, digest: digest)
    self.request = request
  }

  private static func basicCredentials(_ url: URL) -> String {
    let user = url.user(percentEncoded: false) ?? ""
    let password = url.password(percentEncoded: false) ?? ""
    return Data("\(user):\(password)".utf8).base64EncodedString()
  }

  /// Whether a row of the key may be the answer to this request's method.
  var isHead: Bool { request.method == .head }

  /// Whether it may be sent again where it failed.
  var isRepeatable: Bool { request.method == .get || request.method == .head || request.isRead }
}

extension PreparedRequest {
  /// Whether two loads may share an exchange (design law 7): whether they are alike in all that shapes it.
  func isAlike(_ other: PreparedRequest) -> Bool {
    key == other.key && request.method == other.request.method && url == other.url && fields == other.fields
      && request.body == other.request.body && request.limits == other.request.limits
      && request.connection == other.request.connection && request.keepsAnyway == other.request.keepsAnyway
      && isHTTP == other.isHTTP && request.onlineWait == other.request.onlineWait
  }
}
