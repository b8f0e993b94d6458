import CacheStore
import DataServiceTesting
import PlatformNetworking
import Testing
import TestTurns

@testable import DataService
@testable import URLSessionTransport

/// What URLSession's delegate tells one exchange, without a session.
@Suite("URLSession: one exchange", .inTurn) struct SessionExchangeTests {
  private let clock = VirtualClock()

  private func make(
    _ method: RequestMethod = .get, bodyCount: Int? = nil, _ change: (inout Limits) -> Void = { _ in }
  ) throws -> SessionExchange {
    var request = TransportRequest(
      url: try #require(URL(string: "http://a.test/")), method: method,
      body: bodyCount.map { Data(count: $0) })
    request.limits.firstByteTimeout = .seconds(5)
    request.limits.idleTimeout = .seconds(20)
    request.limits.totalTimeout = .seconds(600)
    change(&request.limits)
    return SessionExchange(request, timekeeper: clock)
  }

  private func head(
    _ status: Int = 200, length: Int64? = nil, fields: HTTPFields = [:]
  ) -> SessionExchange.SessionHead {
    SessionExchange.SessionHead(status: status, fields: fields, length: length)
  }

  /// Reads an exchange that has ended to its end.
  private func failure(of exchange: SessionExchange) async -> DataServiceError? {
    do throws(DataServiceError) {
      _ = try await exchange.head()
      while try await exchange.nextPiece() != nil {}
      return nil
    } catch {
      return error
    }
  }

  @Test func `a head that just keeps to the limits is taken, with a byte or a field more it is not`()
    async throws
  {
    // Eight bytes each on the wire.
    let fields: HTTPFields = ["X-A": "1", "X-B": "2"]
    let cases: [(bytes: Int, count: Int, says: String?)] = [
      (16, 2, nil), (15, 2, "the headers are larger than 15 bytes"), (16, 1, "there are more than 1 headers"),
    ]
    for (bytes, count, says) in cases {
      let exchange = try make { limits in
        limits.fieldSectionBytes = bytes
        limits.fieldCount = count
      }
      exchange.receive(head(fields: fields))
      exchange.complete(nil)
      let error = await failure(of: exchange)
      #expect((error == nil) == (says == nil), "\(bytes), \(count)")
      if let says {
        #expect(error?.kind == .protocol && error?.message.hasSuffix(says) == true, "\(bytes), \(count)")
      }
    }
  }

  @Test func `a body that just keeps to the limit is taken, said to be longer or longer it is not`()
    async throws
  {
    for (said, came, isTooLarge) in [(4, 4, false), (nil, 4, false), (5, 0, true), (nil, 5, true)]
      as [(Int64?, Int, Bool)]
    {
      let exchange = try make { $0.bodyBytes = 4 }
      exchange.receive(head(length: said))
      if came > 0 { exchange.receive(Data(count: came)) }
      #expect(
        clock.pendingDelays.isEmpty == isTooLarge,
        "what has been stopped needs no limit: \(said ?? -1), \(came)")
      exchange.complete(nil)
      let kind: DataServiceError.Kind? = isTooLarge ? .tooLarge : nil
      #expect(await failure(of: exchange)?.kind == kind, "\(said ?? -1), \(came)")
      #expect(clock.pendingDelays.isEmpty, "\(said ?? -1), \(came)")
    }
  }

  @Test func `a length counts where there is a body`() async throws {
    let cases: [(method: RequestMethod, status: Int, hasBody: Bool)] = [
      (.get, 200, true), (.post, 404, true), (.get, 206, true), (.head, 200, false), (.get, 204, false),
      (.get, 304, false),
    ]
    for (method, status, hasBody) in cases {
      let (cutOff, tooLarge): (DataServiceError.Kind?, DataServiceError.Kind?) =
        hasBody ? (.truncated, .tooLarge) : (nil, nil)
      let exchange = try make(method) { $0.bodyBytes = 5 }
      exchange.receive(head(status, length: 5))
      if hasBody { exchange.receive(Data(count: 4)) }
      exchange.complete(nil)
      #expect(await failure(of: exchange)?.kind == cutOff, "\(method.rawValue), \(status)")
      let longer = try make(method) { $0.bodyBytes = 4 }
      longer.receive(head(status, length: 5))
      longer.complete(nil)
      #expect(await failure(of: longer)?.kind == tooLarge, "\(method.rawValue), \(status)")
    }
  }

  @Test func `the first head counts, and one that was not reported is taken at the end`() async throws {
    let reported = try make()
    reported.receive(head(200))
    reported.receiveIfMissing(head(500))
    reported.complete(nil)
    #expect(try await reported.head().status == 200)
    let missing = try make()
    missing.receive(head(103))
    missing.receiveIfMissing(head(404))
    missing.complete(nil)
    #expect(try await missing.head().status == 404)
    let none = try make()
    none.receive(head(103))
    none.complete(nil)
    #expect(await failure(of: none)?.kind == .protocol)
  }

  @Test func `the wait for an answer begins with the last byte of the body`() throws {
    let exchange = try make(.put, bodyCount: 10)
    exchange.sent(9)
    #expect(clock.pendingDelays == [.seconds(20)])
    clock.advance(by: .seconds(1))
    exchange.sent(10)
    #expect(clock.pendingDelays == [.seconds(5)])
    exchange.complete(URLError(.cancelled))
    #expect(clock.pendingDelays.isEmpty)
  }

  @Test func `what is sent after the answer has begun is a sign of life`() async throws {
    let exchange = try make(.put, bodyCount: 10)
    exchange.receive(head())
    #expect(clock.pendingDelays == [.seconds(20)])
    clock.advance(by: .seconds(10))
    exchange.sent(10)
    #expect(clock.pendingDelays == [.seconds(10)], "the timer that is set does")
    clock.advance(by: .seconds(10))
    #expect(clock.pendingDelays == [.seconds(10)], "and is set again for the rest")
    clock.advance(by: .milliseconds(9_999))
    #expect(clock.pendingDelays == [.milliseconds(1)])
    clock.advance(by: .milliseconds(1))
    try #require(clock.pendingDelays.isEmpty)
    #expect(await failure(of: exchange)?.kind == .timeout(.idle))
  }

  @Test func `bytes of the body put off the limit for silence, and the first of all sets it`() async throws {
    let exchange = try make()
    exchange.receive(Data(count: 1))
    #expect(clock.pendingDelays == [.seconds(20)])
    exchange.receive(head())
    clock.advance(by: .seconds(10))
    exchange.receive(Data(count: 1))
    clock.advance(by: .seconds(10))
    #expect(clock.pendingDelays == [.seconds(10)])
    clock.advance(by: .seconds(10))
    try #require(clock.pendingDelays.isEmpty)
    #expect(await failure(of: exchange)?.kind == .timeout(.idle))
  }

  @Test func `an error of URLSession has the kind of its cause`() {
    let cases: [(code: URLError.Code, kind: DataServiceError.Kind, withHead: DataServiceError.Kind)] = [
      (.timedOut, .timeout(.firstByte), .timeout(.idle)),
      (.networkConnectionLost, .disconnected, .truncated), (.cancelled, .cancelled, .cancelled),
      (.notConnectedToInternet, .offline, .offline), (.cannotFindHost, .dns, .dns),
      (.cannotConnectToHost, .refused, .refused), (.badServerResponse, .protocol, .protocol),
      (.unsupportedURL, .invalidRequest, .invalidRequest),
      (.serverCertificateHasBadDate, .tls("expired"), .tls("expired")),
      (.serverCertificateNotYetValid, .tls("notYetValid"), .tls("notYetValid")),
      (.unknown, .other, .other),
    ]
    for (code, kind, withHead) in cases {
      let error = URLError(code)
      #expect(DataServiceError.urlSession(error, host: "a.test", hasHead: false).kind == kind, "\(code)")
      #expect(DataServiceError.urlSession(error, host: "a.test", hasHead: true).kind == withHead, "\(code)")
    }
    let foreign = DataServiceError.urlSession(CancellationError(), host: "a.test", hasHead: false)
    #expect(foreign.kind == .other && foreign.underlying is CancellationError)
  }
}
