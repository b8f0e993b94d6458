internal import CacheStore
internal import PlatformFoundation

/// Prepares a response for the caller under `http`: applies the caller's preconditions and range to the stored
/// response or answer (RFC 9111 section 4.3.2) and changes nothing else.
enum HTTPPresentation {
  /// The answer to the request from a stored response, with the matching part of its body.
  static func response(
    from row: Box<StoredResponse>, prepared: PreparedRequest, core: ServiceCore, elapsed: Duration
  ) -> (head: Box<DataService.ResponseHead>, body: DeliveredBody) {
    let now = core.timekeeper.wallMilliseconds
    guard prepared.isHTTP else {
      let head = Box(HeadRule.head(of: row.value, prepared: prepared, now: now, elapsed: elapsed))
      return (head, prepared.isHead ? .data(Data()) : DeliveredBody(row.value.body))
    }
    var head = HeadRule.head(of: row.value, prepared: prepared, now: now, elapsed: elapsed)
    let served = ServedResponse(
      row.value, method: prepared.request.method, requestFields: prepared.fields, now: now)
    head.status = served.status
    head.reason = served.reason
    head.fields = served.fields
    let body = core.part(served.body, of: DeliveredBody(row.value.body))
    head.bodyLength = body.length
    return (Box(head), body)
  }

  /// The caller's view of an answer under `http`. After a 304 that is the stored response. For any other answer the
  /// caller's precondition is evaluated here only if our validators replaced it in the request.
  static func answer(
    _ answer: Answer, candidate: StoredResponse?, prepared: PreparedRequest, core: ServiceCore
  ) -> Answer {
    guard var row = candidate, answer.head.status == row.status else { return answer }
    row.head = answer.head
    // The answer to a HEAD has no body, and its length is the stored one's.
    if !prepared.isHead { row.body.length = answer.body.length ?? row.body.length }
    let served = ServedResponse(
      row, method: prepared.request.method, requestFields: prepared.fields,
      now: core.timekeeper.wallMilliseconds, isValidated: true)
    guard answer.wasValidated || served.status == 304 else { return answer }
    var shown = answer
    shown.head.status = served.status
    shown.head.reason = served.reason
    shown.head.fields = served.fields
    shown.body = core.part(served.body, of: answer.body)
    return shown
  }
}

extension ServiceCore {
  /// The decision of RFC 9111 about a request and the rows under its key.
  func judge(_ prepared: PreparedRequest, rows: [StoredResponse]) -> HTTPReuse.Decision {
    let accepted = prepared.request.acceptedMediaTypes
    // A stored redirect is a miss when the caller follows redirects.
    let rows = rows.filter {
      (prepared.request.limits.redirects == 0 || !RedirectRule.statuses.contains($0.status))
        && MediaTypes.accepts($0.fields, accepted: accepted)
    }
    return HTTPReuse.decide(
      method: prepared.request.method, fields: prepared.fields, isRead: prepared.request.isRead,
      url: prepared.shownURL, rows: rows, now: timekeeper.wallMilliseconds, protect: protect)
  }

  /// A range of a body; the body itself if the range covers all of it.
  func part(_ range: Range<Int64>, of body: DeliveredBody) -> DeliveredBody {
    // The length of a body that still arrives may not be known.
    if range.lowerBound == 0, range.upperBound == body.length { return body }
    if range.isEmpty { return .data(Data()) }
    if case .data(let data) = body {
      return .data(
        Data(data.dropFirst(Int(range.lowerBound)).prefix(Int(range.upperBound - range.lowerBound))))
    }
    let part = BodyPart(stream: stream(body), range: range)
    return .live(
      DataService.BodyStream(length: range.upperBound - range.lowerBound) {
        () async throws(DataServiceError) -> Data? in try await part.next()
      })
  }
}

/// A byte range of a stream; the bytes before it are read and discarded.
private actor BodyPart {
  private let stream: DataService.BodyStream
  private var skipped: Int64
  private var remaining: Int64

  init(stream: DataService.BodyStream, range: Range<Int64>) {
    self.stream = stream
    skipped = range.lowerBound
    remaining = range.upperBound - range.lowerBound
  }

  func next() async throws(DataServiceError) -> Data? {
    while remaining > 0, let piece = try await stream.next() {
      let drop = min(Int64(piece.count), skipped)
      skipped -= drop
      let part = piece.dropFirst(Int(drop)).prefix(Int(clamping: remaining))
      remaining -= Int64(part.count)
      if !part.isEmpty { return Data(part) }
    }
    return nil
  }
}
