#if os(Linux) && !PORTABLE
  import CacheStore
  import PlatformFoundation
  import Synchronization

  /// Exchanges over libcurl, on one thread of their own, with connections kept and shared.
  ///
  /// HTTP/1.1, and HTTP/2 where TLS offers it. libcurl is loaded by the first exchange; where it is missing that
  /// exchange fails with `libraryMissing`. Verified TLS, the environment's proxies, decoded compression; no cookies,
  /// no `.netrc`, no redirects. All functions may be called from any thread.
  package final class CurlTransport: Transport {
    /// What all exchanges of a transport have in common.
    package struct Configuration: Sendable, Hashable {
      /// How many exchanges with one host may be under way; further ones wait their turn.
      package var exchangesPerHost = 6
      /// How many may be under way in all.
      package var exchangesInAll = 32
      /// What is sent as `User-Agent` where the request has none.
      package var userAgent = "cachefetch/\(Release.version)"
      /// The library's file name; tests name one that does not exist.
      package var libraryName = "libcurl.so.4"

      /// The defaults.
      package init() {}
    }

    let thread: NetworkThread
    let engine: CurlEngine
    private let wasUsed = Atomic(false)

    /// A transport with a thread of its own. Starts nothing until the first exchange.
    package convenience init(configuration: Configuration = .init()) {
      let thread = NetworkThread()
      self.init(configuration: configuration, thread: thread, timekeeper: SystemTimekeeper(thread: thread))
    }

    /// A transport on a thread that other code uses too, with an injected clock. A thread carries one transport.
    package init(configuration: Configuration = .init(), thread: NetworkThread, timekeeper: any Timekeeper) {
      self.thread = thread
      engine = CurlEngine(configuration: configuration, timekeeper: timekeeper)
    }

    deinit {
      guard wasUsed.load(ordering: .relaxed) else { return }
      thread.perform { [thread, engine] in thread.detach(engine) }
    }

    /// Performs one hop, as `Transport` says.
    package func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse {
      if let fault = request.fault { throw fault }
      if Task.isCancelled { throw DataServiceError(.cancelled, "the exchange was cancelled") }
      let url = request.url.absoluteString
      guard let origin = Origin(url) else {
        throw DataServiceError(.invalidRequest, "the URL is not an http or https URL with a host")
      }
      try Self.checkLength(of: request.fields)
      wasUsed.store(true, ordering: .relaxed)
      let exchange = CurlExchange(request, url: url, origin: origin, transport: self)
      let head = try await exchange.head()
      let reader = CurlBodyReader(exchange)
      return TransportResponse(
        version: head.version, status: head.status, reason: head.reason, fields: head.fields,
        interim: head.interim,
        body: TransportBody(length: head.isEncoded ? nil : head.contentLength) {
          () async throws(DataServiceError) in try await reader.exchange.nextPiece()
        })
    }
  }

  extension CurlTransport {
    /// libcurl sends a head, and a short body with it, from one buffer of 1 MiB, and otherwise says that it is out of memory.
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

  /// Ends the exchange when the body is dropped.
  private final class CurlBodyReader: Sendable {
    let exchange: CurlExchange
    init(_ exchange: CurlExchange) { self.exchange = exchange }
    deinit { exchange.cancel() }
  }
#endif
