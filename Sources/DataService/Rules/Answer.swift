internal import CacheStore
internal import PlatformFoundation

/// A body on its way to a caller.
enum DeliveredBody: Sendable {
  /// The whole body, in memory.
  case data(Data)
  /// A body in the store, read chunk by chunk.
  case stored(StoredResponse.Body)
  /// A body passed on while it arrives: it may not be stored, and it is larger than 8 MiB (law 4).
  case live(DataService.BodyStream)

  /// Whether it can be read only once.
  var isLive: Bool {
    if case .live = self { return true }
    return false
  }

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

/// The result of an exchange: a complete answer, before a load applies its policy to it.
struct Answer: Sendable {
  /// As received, with the fields that the store leaves out.
  var head: ReceivedHead
  var interim: [TransportResponse.Interim] = []
  /// The number of redirects followed; 0 where another exchange made the answer.
  var redirects = 0
  /// The responder under the name that pauses use; empty where another exchange made the answer.
  var responder = ""
  var body: DeliveredBody
  /// Whether it is the row of another exchange, of which the loads' decoders have made nothing.
  var isAnothers = false
  /// Whether a 304 confirmed the stored body.
  var wasValidated = false
  var kept: DataService.Kept
  /// The stored body that the answer was compared with, and whether the bytes were the same.
  var comparison: (body: StoredResponse.Body, isSame: Bool)?
  /// Whether the answer becomes the last good response. Any other stored answer is kept for `http` only.
  var isGood = true
  /// The delay that the responder asked for in `Retry-After`.
  var retryAfter: Duration?
  /// Whether what the 304 confirmed was another machine's response, and not one of the store.
  var confirmsCandidate = false
  /// The way to it.
  var path = AnswerPath()
  /// Whether other machines get it; `nil` where there are none.
  var shared: DataService.Shared?
}

/// The way from a request to its answer, as far as it matters to other machines.
package struct AnswerPath: Sendable {
  /// Whether the request or a redirect said `no-store`.
  package var isNoStoreChain = false
  /// Whether a hop was over plain http.
  package var wasPlainHTTP = false
  /// Whether a temporary redirect led to another host.
  package var leftHostTemporarily = false
  /// Whether the URL that answered contains a secret.
  package var hasSecretURL = false

  /// Straight from the origin, over TLS.
  package init() {}
}

extension Answer {
  /// The answer made from a row that another exchange has just written.
  init(row: StoredResponse, comparedWith previous: StoredResponse?) {
    self.init(head: row.head, body: DeliveredBody(row.body), isAnothers: true, kept: .yes)
    if let previous {
      comparison = (
        previous.body, previous.changedAt == row.changedAt && previous.body.length == row.body.length
      )
    }
  }

  /// A 304 with the stored status and body, and the merged fields (RFC 9111 section 4.3.4).
  func validating(_ stored: StoredResponse, secretNames: FieldNames) -> Answer {
    var answer = self
    answer.head.status = stored.status
    answer.head.reason = stored.reason
    answer.head.isDecoded = stored.head.isDecoded
    answer.head.fields = Validators.freshened(
      stored: stored.fields, by: head.fields, secretNames: secretNames, receivedAt: head.receivedAt)
    answer.body = DeliveredBody(stored.body)
    answer.wasValidated = true
    answer.comparison = (stored.body, true)
    return answer
  }

  /// Adds the cookies that came with a 304. Callers receive them like the cookies of any answer; the store does not
  /// (law 12).
  mutating func addCookies(of notModified: Answer) {
    for cookie in notModified.head.fields.exact.values(of: "Set-Cookie") {
      head.fields.append("Set-Cookie", exact: cookie)
    }
  }
}
