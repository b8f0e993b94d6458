import CacheStore
import PlatformFoundation
import Synchronization

/// A transport over libcurl, on a thread of its own. Connections are kept and reused.
///
/// It speaks HTTP/1.1, and HTTP/2 if TLS offers it, verifies certificates, uses the environment's proxies and decodes
/// compression. It has no cookies, no `.netrc` and follows no redirects. The first exchange loads libcurl and fails
/// with `libraryMissing` if there is none. All functions may be called from any thread.
package final class CurlTransport: Transport {
  let thread: NetworkThread
  let engine: CurlEngine
  private let wasUsed = Atomic(false)

  /// Makes a transport with a thread of its own. Nothing starts until the first exchange.
  /// - Parameter preparation: What its thread runs first.
  package convenience init(
    configuration: CurlConfiguration = .init(), preparation: (@Sendable () -> Void)? = nil
  ) {
    let thread = NetworkThread(preparation: preparation)
    self.init(configuration: configuration, thread: thread, timekeeper: SystemTimekeeper(thread: thread))
  }

  /// Makes a transport on a thread that other code uses as well, with an injected clock. A thread carries one
  /// transport.
  package init(
    configuration: CurlConfiguration = .init(), thread: NetworkThread, timekeeper: any Timekeeper
  ) {
    self.thread = thread
    engine = CurlEngine(configuration: configuration, timekeeper: timekeeper)
  }

  deinit {
    guard wasUsed.load(ordering: .relaxed) else { return }
    thread.perform { [thread, engine] in thread.detach(engine) }
  }

  /// Records that the engine is attached, so that `deinit` detaches it.
  func noteUse() { wasUsed.store(true, ordering: .relaxed) }

  /// Performs one hop; see ``Transport``.
  package func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse {
    if let fault = request.fault { throw fault }
    if Task.isCancelled { throw DataServiceError(.cancelled, "the exchange was cancelled") }
    let url = request.spelling ?? request.url.absoluteString
    guard let origin = Origin(url) else {
      throw DataServiceError(.invalidRequest, "the URL is not an http or https URL with a host")
    }
    try Self.checkLength(of: request.fields)
    noteUse()
    let exchange = CurlExchange(request, url: url, origin: origin, host: self)
    let head = try await exchange.head()
    let reader = CurlBodyReader(exchange)
    var response = TransportResponse(
      version: head.version, status: head.status, reason: head.reason,
      fields: request.isDecodedUnasked && head.isEncoded ? head.decodedFields : head.fields,
      interim: head.interim,
      body: TransportBody(length: head.isEncoded ? nil : head.contentLength) {
        () async throws(DataServiceError) in try await reader.exchange.nextPiece()
      })
    response.isDecoded = request.decodes && head.isEncoded
    return response
  }
}

extension CurlTransport: ExchangeHost {
  func submit(_ exchange: CurlExchange) { engine.submit(exchange, on: thread) }
  func abandon(_ exchange: CurlExchange) { engine.abandon(exchange) }
  func resume(_ exchange: CurlExchange) { engine.resume(exchange) }
  func isClean(_ ends: ConnectionEnds) -> Bool { engine.isClean(ends) }
  func enter(_ phase: PhaseClock.Phase, _ exchange: CurlExchange) { engine.enter(phase, exchange) }
  func checkDeadline(_ exchange: CurlExchange) { engine.checkDeadline(exchange) }
}

extension CurlTransport {
  /// libcurl sends a head, and a short body with it, from one buffer of 1 MiB, and otherwise says that it is out of
  /// memory.
  private static var maxFieldBytes: Int { 900_000 }

  private static func checkLength(of fields: HTTPFields) throws(DataServiceError) {
    let count = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
    guard count > maxFieldBytes else { return }
    throw DataServiceError(
      .invalidRequest,
      "the headers of the request have \(count) bytes, of which \(maxFieldBytes) can be sent",
      hint: "send long values in the body")
  }
}

extension HeadParser.Head {
  /// The fields without those that describe the body before it was decoded.
  fileprivate var decodedFields: HTTPFields {
    var fields = fields
    fields.remove("Content-Encoding")
    fields.remove("Content-Length")
    return fields
  }
}

/// Ends the exchange when the body is dropped.
private final class CurlBodyReader: Sendable {
  let exchange: CurlExchange
  init(_ exchange: CurlExchange) { self.exchange = exchange }
  deinit { exchange.cancel() }
}
