public import CacheStore
public import DataService
internal import Guards
public import PlatformFoundation

/// An origin without a network. A test sets its answer to each URL and may change it at any time.
///
/// A conditional request with the answer's entity tag gets a 304. A request for a URL without an answer fails, and the
/// failure names the URL. A request that no transport sends, such as a HEAD with a body, fails with `invalidRequest`.
/// May be used from any thread.
///
/// ```swift
/// let origin = ScriptedOrigin()
/// origin.answer("https://api.example.com/news", with: try .json(News(edition: 1)))
/// origin.answer("https://api.example.com/news", with: .failure(.offline))
/// ```
public final class ScriptedOrigin: Transport {
  /// The answer for one URL.
  public struct Answer: Sendable {
    enum Outcome: Sendable {
      case response(status: Int, fields: HTTPFields, body: Data)
      case failure(DataServiceError)
      case nothing
    }
    var outcome: Outcome
    var delay: Duration?

    /// Bytes.
    public static func data(_ body: Data, status: Int = 200, fields: HTTPFields = [:]) -> Answer {
      Answer(outcome: .response(status: status, fields: fields, body: body))
    }

    /// Text, as `text/plain` unless the fields name another type.
    public static func text(_ text: String, status: Int = 200, fields: HTTPFields = [:]) -> Answer {
      data(Data(text.utf8), status: status, fields: fields.with("Content-Type", "text/plain; charset=utf-8"))
    }

    /// A value as JSON.
    /// - Throws: What the encoder throws.
    public static func json(_ value: some Encodable, status: Int = 200, fields: HTTPFields = [:]) throws
      -> Answer
    {
      let encoder = JSONEncoder()
      // The same value is the same bytes, so that it counts as unchanged.
      encoder.outputFormatting = .sortedKeys
      return data(
        try encoder.encode(value), status: status, fields: fields.with("Content-Type", "application/json"))
    }

    /// A failure of the network, such as `offline`, `refused` or `timeout(.connect)`.
    public static func failure(_ kind: DataServiceError.Kind, _ message: String = "as scripted") -> Answer {
      Answer(outcome: .failure(DataServiceError(kind, message)))
    }

    /// No answer: the request fails at its own time limit on the origin's clock, or when it is cancelled.
    public static let never = Answer(outcome: .nothing)

    /// The same answer after a delay on the origin's clock.
    public func after(_ delay: Duration) -> Answer {
      var answer = self
      answer.delay = delay
      return answer
    }
  }

  private struct State {
    var answers: [String: [Answer]] = [:]
    var requests: [TransportRequest] = []
  }

  private let state = Guarded(State())
  private let clock: VirtualClock

  /// An origin without any answers yet.
  /// - Parameter clock: The clock for delays; pass the service's clock if the service is to see them.
  public init(clock: VirtualClock = VirtualClock()) { self.clock = clock }

  /// Sets the answer to a URL, for every method, until it is set again. Of several, each answers one request, in order,
  /// and the last one stays: `answer(url, with: .text("", status: 503), .text("", status: 503), .text("at last"))`.
  public func answer(_ url: String, with answer: Answer, _ later: Answer...) {
    state.withLock { $0.answers[url] = [answer] + later }
  }

  /// The requests so far; each hop of a redirect and each retry counts.
  public var requests: [TransportRequest] { state.withLock { $0.requests } }

  /// Returns the answer that was set; without its body in answer to HEAD, and where its status has none.
  public func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse {
    if let fault = request.fault { throw fault }
    let url = request.url.absoluteString
    let answer = state.withLock { state in
      state.requests.append(request)
      guard let answers = state.answers[url] else { return nil as Answer? }
      if answers.count > 1 { state.answers[url]?.removeFirst() }
      return answers.first
    }
    guard let answer else {
      throw DataServiceError(.other, "nothing is scripted for \(url)", hint: "set it with answer(_:with:)")
    }
    try await wait(for: answer, request)
    switch answer.outcome {
    case .response(let status, let fields, let body):
      let isHeld =
        status == 200 && fields["ETag"] != nil && request.fields["If-None-Match"] == fields["ETag"]
      // RFC 9112 section 6.3.
      let hasBody = !isHeld && request.method != .head && status != 204 && status != 304
      return TransportResponse(
        version: "1.1", status: isHeld ? 304 : status, fields: fields,
        body: TransportBody(whole: hasBody ? body : Data()))
    case .failure(let error): throw error
    case .nothing: throw Self.timeout(of: request)
    }
  }

  /// Waits for the answer's delay, within the request's time limits, as every transport does.
  private func wait(for answer: Answer, _ request: TransportRequest) async throws(DataServiceError) {
    let limit = min(request.limits.firstByteTimeout, request.limits.totalTimeout)
    let delay: Duration
    if case .nothing = answer.outcome { delay = limit } else { delay = answer.delay ?? .zero }
    if delay > .zero { try await Delay().end(after: min(delay, limit), on: clock) }
    if delay > limit { throw Self.timeout(of: request) }
  }

  private static func timeout(of request: TransportRequest) -> DataServiceError {
    let isFirst = request.limits.firstByteTimeout <= request.limits.totalTimeout
    return DataServiceError(
      .timeout(isFirst ? .firstByte : .total), "no response within the request's limits")
  }
}

extension HTTPFields {
  /// Adds the field, unless it is set.
  fileprivate func with(_ name: String, _ value: String) -> HTTPFields {
    var fields = self
    if !fields.contains(name) { fields[name] = value }
    return fields
  }
}

/// A wait that ends by the virtual clock or by cancellation of the task.
private final class Delay: Sendable {
  private struct State {
    var continuation: CheckedContinuation<Bool, Never>?
    var result: Bool?
  }
  private let state = Guarded(State())

  /// Returns after `delay`.
  /// - Throws: `cancelled` if the task is cancelled.
  func end(after delay: Duration, on clock: VirtualClock) async throws(DataServiceError) {
    let timer = clock.after(delay) { self.end(true) }
    defer { timer.cancel() }
    guard await isOver() else { throw DataServiceError(.cancelled, "the request was cancelled") }
  }

  private func isOver() async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let result = state.withLock { state in
          if state.result == nil { state.continuation = continuation }
          return state.result
        }
        if let result { continuation.resume(returning: result) }
      }
    } onCancel: {
      end(false)
    }
  }

  private func end(_ result: Bool) {
    let continuation = state.withLock { state in
      guard state.result == nil else { return nil as CheckedContinuation<Bool, Never>? }
      state.result = result
      defer { state.continuation = nil }
      return state.continuation
    }
    continuation?.resume(returning: result)
  }
}

/// A transport that answers from a closure, for example to count requests or to hold an answer back. If the answers
/// depend only on the URL, ``ScriptedOrigin`` is shorter.
public final class ScriptedTransport: Transport {
  /// Answers a request; the number counts from 1.
  public typealias Script =
    @Sendable (_ request: TransportRequest, _ number: Int) async throws(DataServiceError) -> TransportResponse

  private let script: Script
  private let log = Guarded<[TransportRequest]>([])

  /// Answers each request by calling the script, on a thread of the service.
  public init(_ script: @escaping Script) { self.script = script }

  /// The requests so far; each hop of a redirect and each retry counts.
  public var requests: [TransportRequest] { log.withLock { $0 } }

  /// Records the request and calls the script.
  public func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse {
    let number = log.withLock { log in
      log.append(request)
      return log.count
    }
    return try await script(request, number)
  }
}
