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

  /// What of the connection and of the caller's `Host` decides who answers at the URL's origin, and at any other, where
  /// no `Host` goes along. Empty for most.
  let route: (own: String, elsewhere: String)

  /// What may be shown of the URL: without user-info, secret query values replaced by digests.
  let shownURL: String

  /// A keyed digest of bytes.
  typealias Digest = @Sendable (_ bytes: [UInt8]) -> String

  /// - Throws: `invalidRequest` naming the thing that is wrong.
  init(
    _ request: consuming DataService.Request, policy: FetchPolicy, secrets: SecretList,
    digest: @escaping Digest, fileDigest: @escaping KeyRule.FileDigest
  ) throws(DataServiceError) {
    url = try NormalisedURL(request.url.absoluteString)
    self.digest = digest
    var fields = request.fields
    if url.userInfo != nil, !fields.contains("Authorization") {
      fields.append("Authorization", "Basic " + Self.basicCredentials(request.url))
    }
    if let refused = fields.refused {
      throw DataServiceError(.invalidRequest, refused, hint: "a header is one line, “Name: value”")
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
    let means = KeyRule.Means(secrets: secrets, digest: digest, fileDigest: fileDigest)
    key = try KeyRule.key(for: request, url: url, fields: fields, means: means)
    let elsewhere = KeyRule.route(of: request.connection, host: nil, means: means)
    let host = KeyRule.host(in: fields, url: url)
    route = (
      host == nil ? elsewhere : KeyRule.route(of: request.connection, host: host, means: means), elsewhere
    )
    shownURL = request.key == nil ? key.target : KeyRule.redacted(url, secrets: secrets, digest: digest)
    self.request = request
  }

  private static func basicCredentials(_ url: URL) -> String {
    let user = url.user(percentEncoded: false) ?? ""
    let password = url.password(percentEncoded: false) ?? ""
    return Data("\(user):\(password)".utf8).base64EncodedString()
  }

  /// Under what it is stored, for a message.
  var shownPlace: String { request.key.map { "under the key \($0)" } ?? "for \(shownURL)" }

  /// Who answers for a URL of this request's, its own or one that a redirect leads to, as pauses name them.
  func responder(of url: NormalisedURL) -> String {
    let origin = url.origin
    guard !route.own.isEmpty else { return origin }
    let way = origin == self.url.origin ? route.own : route.elsewhere
    return way.isEmpty ? origin : origin + " " + way
  }

  /// Whether a row of the key may be the answer to this request's method.
  var isHead: Bool { request.method == .head }

  /// Whether it may be sent again where it failed.
  var isRepeatable: Bool { request.method == .get || request.method == .head || request.isRead }
}

extension PreparedRequest {
  /// Whether two loads may share an exchange (law 7): whether they are alike in all that shapes it.
  func isAlike(_ other: PreparedRequest) -> Bool {
    key == other.key && request.method == other.request.method && url == other.url && fields == other.fields
      && request.body == other.request.body && request.limits == other.request.limits
      && request.connection == other.request.connection && request.keepsAnyway == other.request.keepsAnyway
      && request.acceptedMediaTypes == other.request.acceptedMediaTypes
      && isHTTP == other.isHTTP && request.onlineWait == other.request.onlineWait
  }
}
