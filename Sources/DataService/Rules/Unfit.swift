internal import CacheStore

/// Why none of the rows that are stored under a request's key answers it, for messages. `http` has reasons of its own.
enum Unfit: Sendable, Hashable {
  /// Other request fields were sent for them; `names` as in the `vary` column.
  case variant(names: String)
  case mediaType
  case status
  /// They are older than the request's ``DataService/Request/maxStale``.
  case age
  /// The stored bytes are in a content coding, and the request wants them decoded.
  case coded
  /// They are not the last good response.
  case forHTTP

  /// - Parameters:
  ///   - rows: The rows stored under the key; none was selected.
  ///   - statuses: The statuses that the load accepts.
  init(
    _ rows: [StoredResponse], for prepared: PreparedRequest, statuses: ClosedRange<Int>?,
    protect: Vary.Protection
  ) {
    let good = rows.filter { $0.isGood }
    let matching = good.filter {
      Vary.matches(
        $0, requestFields: prepared.fields, protect: protect, besides: prepared.credentials)
    }
    let types = prepared.request.acceptedMediaTypes
    if good.isEmpty {
      self = .forHTTP
    } else if matching.isEmpty {
      self = .variant(names: good.first?.vary ?? "")
    } else if !matching.contains(where: { MediaTypes.accepts($0.fields, accepted: types) }) {
      self = .mediaType
    } else if !matching.contains(where: { statuses?.contains($0.status) ?? true }) {
      self = .status
    } else {
      self = .coded
    }
  }

  /// Why the stored rows are not used, for a message.
  var words: String {
    switch self {
    case .variant(let names): "is of another variant (Vary: \(names.replacing(",", with: ", ")))"
    case .mediaType: "is of another media type"
    case .status: "is of a status that is not accepted"
    case .age: "is older than the request allows"
    case .coded: "is in a content coding"
    case .forHTTP: "is for the policy http alone"
    }
  }
}
