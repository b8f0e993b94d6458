import CacheStore

#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

extension DataService.Request {
  /// The request that a `URLRequest` describes; `nil` where it has no URL.
  ///
  /// `timeoutInterval` becomes the idle timeout, its meaning in URLSession, and the time allowed for the first byte.
  /// `httpShouldHandleCookies` has no effect, since the service keeps no cookies. A body stream is ignored. The cache
  /// policy belongs to the load: see ``FetchPolicy``.
  public init?(_ request: URLRequest) {
    guard let url = request.url else { return nil }
    var fields = HTTPFields()
    for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
      fields.append(name, value)
    }
    self.init(
      url, method: RequestMethod(rawValue: request.httpMethod ?? "GET"), fields: fields,
      body: request.httpBody)
    if request.timeoutInterval > 0, request.timeoutInterval < 86_400 * 365 {
      limits.idleTimeout = .milliseconds(Int64(request.timeoutInterval * 1_000))
      limits.firstByteTimeout = limits.idleTimeout
    }
  }
}

extension URLRequest {
  /// The equivalent `URLRequest`, without account, key and limits.
  public init(_ request: DataService.Request) {
    self.init(url: request.url)
    httpMethod = request.method.rawValue
    httpBody = request.body
    for field in request.fields.all { addValue(field.value, forHTTPHeaderField: field.name) }
  }
}

extension FetchPolicy {
  /// The policy nearest to a cache policy of the URL loading system.
  public init(_ policy: URLRequest.CachePolicy) {
    self =
      switch policy {
      case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData,
        .reloadRevalidatingCacheData:
        .freshOnly
      case .returnCacheDataElseLoad: .storedElseFresh(maxAge: .seconds(3_155_760_000))
      case .returnCacheDataDontLoad: .storedOnly
      default: .http
      }
  }
}

extension HTTPURLResponse {
  /// The head of a response as URLSession would give it; fields of one name are joined.
  public convenience init?(_ head: DataService.ResponseHead) {
    var fields: [String: String] = [:]
    for field in head.fields.all {
      let known = fields.keys.first { $0.lowercased() == field.name.lowercased() } ?? field.name
      fields[known] = fields[known].map { "\($0), \(field.value)" } ?? field.value
    }
    let url = URL(string: head.url) ?? head.requestURL
    self.init(
      url: url, statusCode: head.status, httpVersion: "HTTP/\(head.version)", headerFields: fields)
  }
}
