import CacheStore
import DataService
import DataServiceTesting
import PlatformFoundation
import Synchronization
import TestSupport
import Testing
import TestTurns

/// A download of 9,000 bytes that is cut off after 5,000: what the suites of resuming have in common.
protocol CutOffDownload {}

private enum Contents {
  static let own = distinctBytes(9_000)
  static let other = distinctBytes(9_000, seed: 9)
}

extension CutOffDownload {
  static var chunk: Int { 1_024 }
  static var content: [UInt8] { Contents.own }
  static var other: [UInt8] { Contents.other }
  static var cut: Int { 5_000 }
  static var url: String { "http://a.test/big" }

  static func fixture(_ script: @escaping ScriptedTransport.Script) throws -> (
    ServiceFixture, ScriptedTransport
  ) {
    let transport = ScriptedTransport(script)
    let fixture = try ServiceFixture(transport: transport) {
      $0.store.chunkBytes = chunk
    }
    return (fixture, transport)
  }

  static func request(_ change: (inout DataService.Request) -> Void = { _ in }) throws
    -> DataService.Request
  {
    var request = DataService.Request(try #require(URL(string: url)))
    request.limits.retries = 0
    change(&request)
    return request
  }

  /// The load's outcome: the body, or the failure's kind.
  static func load(
    _ fixture: ServiceFixture, _ request: DataService.Request, _ policy: FetchPolicy = .freshOnly
  ) async -> Result<[UInt8], DataServiceError> {
    var result: Result<[UInt8], DataServiceError> = .failure(.init(.notStored, "nothing came"))
    for await delivery in fixture.service.deliveries(for: request, policy: policy) {
      switch delivery {
      case .stored(let response), .fresh(let response, _): result = .success(Array(response.value))
      case .failure(let error, _): result = .failure(error)
      }
    }
    return result
  }

  static func kind(_ result: Result<[UInt8], DataServiceError>) -> DataServiceError.Kind? {
    if case .failure(let error) = result { return error.kind }
    return nil
  }
}

/// Replies as a transport hands them over.
enum ResumedReply {
  /// Where the request wants the body to begin.
  static func start(of request: TransportRequest) -> Int? {
    request.fields["Range"].flatMap { Int($0.dropFirst(6).dropLast()) }
  }

  static func whole(_ bytes: [UInt8], _ fields: HTTPFields, cutAt end: Int? = nil, saysLength: Bool = true)
    -> TransportResponse
  {
    TransportResponse(
      version: "1.1", status: 200, reason: "OK", fields: fields,
      body: stream(bytes, cutAt: end, length: saysLength ? bytes.count : nil))
  }

  static func part(_ bytes: [UInt8], _ fields: HTTPFields, cutAt end: Int? = nil, saysLength: Bool = true)
    -> TransportResponse
  {
    TransportResponse(
      version: "1.1", status: 206, reason: "Partial Content", fields: fields,
      body: stream(bytes, cutAt: end, length: saysLength ? bytes.count : nil))
  }

  private static func stream(_ bytes: [UInt8], cutAt end: Int?, length: Int?) -> DataService.BodyStream {
    let next = Mutex(0)
    let sent = end.map { Array(bytes.prefix($0)) } ?? bytes
    return DataService.BodyStream(length: length.map { Int64($0) }) { () throws(DataServiceError) -> Data? in
      let start = next.withLock { next in
        defer { next += 700 }
        return next
      }
      if start < sent.count { return Data(sent[start..<min(start + 700, sent.count)]) }
      if end != nil { throw DataServiceError(.truncated, "cut off") }
      return nil
    }
  }
}
