import PlatformFoundation

@testable import CacheStore
@testable import DataService
@testable import cachefetch

/// Responses and entries to be shown, of which a test says what matters to it.
enum Sample {
  /// When the stored ones were received: 1970-01-01T00:00:01.500Z.
  static let receivedAt: Int64 = 1_500

  /// The head of `200 OK` that took 120 ms; a stored one is 5 seconds old and stale.
  static func head(
    isStored: Bool = false, _ change: (inout DataService.ResponseHead) -> Void = { _ in }
  ) -> DataService.ResponseHead {
    let freshness = FreshnessInputs(
      status: 200, fields: HTTPFields(), requestedAt: receivedAt, receivedAt: receivedAt,
      now: receivedAt + 5_000,
      isStored: isStored)
    var head = DataService.ResponseHead(
      version: "1.1", status: 200, reason: "OK", fields: ["Content-Type": "text/plain"], interim: [],
      url: "http://a.example/y", requestURL: URL(filePath: "/x"), account: "alice",
      receivedAtMilliseconds: receivedAt, freshness: freshness, wasValidated: false, kept: .yes,
      elapsed: .milliseconds(120), bodyLength: 3)
    change(&head)
    return head
  }

  /// A response with that body.
  static func response(
    _ body: [UInt8], isStored: Bool = false, type: String? = "text/plain",
    _ change: (inout DataService.ResponseHead) -> Void = { _ in }
  ) -> DeliveryPrinter.Response {
    let head = head(isStored: isStored) { head in
      head.fields = type.map { ["Content-Type": $0] as HTTPFields } ?? HTTPFields()
      head.bodyLength = Int64(body.count)
      change(&head)
    }
    return DeliveryPrinter.Response(value: DataService.BodyStream(whole: Data(body)), head: head)
  }

  /// A response whose body comes in those pieces, its length not known beforehand.
  static func response(pieces: [[UInt8]], type: String? = "text/plain") -> DeliveryPrinter.Response {
    let head = head { head in
      head.fields = type.map { ["Content-Type": $0] as HTTPFields } ?? HTTPFields()
      head.bodyLength = nil
    }
    let rest = PieceQueue(pieces)
    let stream = DataService.BodyStream(length: nil) { () throws(DataServiceError) in await rest.next() }
    return DeliveryPrinter.Response(value: stream, head: head)
  }

  /// An entry of a sound, fresh `200 OK` of three bytes.
  static func entry(
    _ target: String = "http://a.example/x", account: String = "", extra: String = "", method: String = "GET",
    usedAt: Int64? = nil, tags: [String] = [], isSound: Bool = true,
    _ change: (inout StoredResponse) -> Void = { _ in }
  ) -> StoredEntry {
    let head = ReceivedHead(
      status: 200, reason: "OK", fields: ["Cache-Control": "max-age=60"],
      started: StartMark(boot: "", nanoseconds: 0), receivedAt: receivedAt)
    var response = StoredResponse(
      id: 1, accountID: 1, head: head,
      body: StoredResponse.Body(id: 1, length: 3, firstChunk: Data()))
    change(&response)
    return StoredEntry(
      rowID: 1, key: RequestKey(account: account, target: target, method: method, extra: extra),
      response: response, isSound: isSound, usedAtMilliseconds: usedAt, tags: tags)
  }
}

private actor PieceQueue {
  private var pieces: ArraySlice<[UInt8]>
  init(_ pieces: [[UInt8]]) { self.pieces = pieces[...] }
  func next() -> Data? { pieces.popFirst().map { Data($0) } }
}
