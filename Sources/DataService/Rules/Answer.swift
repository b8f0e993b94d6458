internal import CacheStore
internal import FoundationEssentials

/// A body on its way to a caller.
enum DeliveredBody: Sendable {
  /// All of it, at hand.
  case data(Data)
  /// In the store, to be read chunk by chunk.
  case stored(StoredResponse.Body)
  /// Handed on while it arrives, because it may not be stored and is larger than 8 MiB (law 4).
  case live(DataService.BodyStream)

  init(_ body: StoredResponse.Body) {
    self = body.isWhole ? .data(body.firstChunk) : .stored(body)
  }

  var length: Int64? {
    switch self {
    case .data(let data): Int64(data.count)
    case .stored(let body): body.length
    case .live(let stream): stream.length
    }
  }
}

/// What an exchange brought: a whole answer, judged but not yet measured against any one load's policy.
struct Answer: Sendable {
  var version: String
  var status: Int
  var reason: String
  var fields: HTTPFields
  var interim: [TransportResponse.Interim]
  /// How many redirects led to it; 0 where that was another exchange's.
  var redirects = 0
  var url: String
  /// Who answered, as pauses name them; empty where the answer is another exchange's.
  var responder = ""
  var body: DeliveredBody
  /// Whether a 304 confirmed the stored body.
  var wasValidated: Bool
  var requestedAt: Int64
  var receivedAt: Int64
  var kept: DataService.Kept
  /// The stored body the answer's bytes were compared with, and whether they were the same.
  var comparison: (body: StoredResponse.Body, isSame: Bool)?
  /// Whether it becomes the last good response; others are kept for `http` only.
  var isGood = true
  /// How long the responder asked to be left alone.
  var retryAfter: Duration?
  /// When the exchange that brought it began.
  var started: StartMark?
}

extension Answer {
  /// A stored row as the answer, after another exchange has just written it.
  init(row: StoredResponse, url: String, comparedWith previous: StoredResponse?) {
    version = row.httpVersion
    status = row.status
    reason = row.reason
    fields = row.fields
    interim = []
    self.url = url
    body = DeliveredBody(row.body)
    wasValidated = false
    requestedAt = row.requestedAt
    receivedAt = row.receivedAt
    kept = .yes
    started = row.started
    if let previous {
      comparison = (
        previous.body, previous.changedAt == row.changedAt && previous.body.length == row.body.length
      )
    }
  }

  /// A 304 with the stored status and body, and the merged fields (RFC 9111 section 4.3.4).
  func validating(_ stored: StoredResponse, secretNames: FieldNames) -> Answer {
    var answer = self
    answer.status = stored.status
    answer.reason = stored.reason
    answer.fields = Validators.freshened(
      stored: stored.fields, by: fields, secretNames: secretNames, receivedAt: receivedAt)
    answer.body = DeliveredBody(stored.body)
    answer.wasValidated = true
    answer.comparison = (stored.body, true)
    return answer
  }

  /// Takes over the cookies that came with a 304: they are delivered, as those of any answer, and never stored (law 12).
  mutating func addCookies(of head: Answer) {
    for cookie in head.fields.values(of: "Set-Cookie") { fields.append("Set-Cookie", cookie) }
  }
}
