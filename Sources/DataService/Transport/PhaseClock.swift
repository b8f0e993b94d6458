internal import CacheStore

/// The time limits of an exchange's phases, in nanoseconds of the clock since boot. Pure: the caller passes the time.
package struct PhaseClock {
  /// The phase of an exchange.
  package enum Phase {
    /// Waiting in the queue: no limit applies.
    case queued
    /// Name lookup, connection, TLS.
    case connecting
    /// Sending the request's body.
    case sending
    /// The request is sent; no byte of the response has arrived.
    case waiting
    /// The response is arriving.
    case receiving
    /// Paused because the caller does not read.
    case paused
  }

  package private(set) var phase = Phase.queued
  /// The start of the phase, or its last activity if the phase limits idle time.
  private var since: Int64
  private let connect: Int64
  private let firstByte: Int64
  private let idle: Int64
  private let total: Int64
  /// When the total time is over, which begins with the first phase after the queue.
  private var end: Int64?

  /// A clock for an exchange requested at `now`.
  package init(limits: Limits, now: Int64) {
    since = now
    connect = limits.connectTimeout.clampedNanoseconds
    firstByte = limits.firstByteTimeout.clampedNanoseconds
    idle = limits.idleTimeout.clampedNanoseconds
    total = limits.totalTimeout.clampedNanoseconds
  }

  /// Enters a phase, or records activity in it.
  package mutating func enter(_ phase: Phase, at now: Int64) {
    self.phase = phase
    since = now
    if end == nil { end = Self.sum(now, total) }
  }

  /// The next deadline, and the phase whose limit it is.
  package var deadline: (instant: Int64, phase: DataServiceError.Kind.Phase) {
    let total = end ?? .max
    let instant: Int64
    let name: DataServiceError.Kind.Phase
    switch phase {
    case .queued, .paused: return (total, .total)
    case .connecting: (instant, name) = (Self.sum(since, connect), .connect)
    case .sending, .receiving: (instant, name) = (Self.sum(since, idle), .idle)
    case .waiting: (instant, name) = (Self.sum(since, firstByte), .firstByte)
    }
    return instant < total ? (instant, name) : (total, .total)
  }

  private static func sum(_ instant: Int64, _ delay: Int64) -> Int64 {
    let (sum, overflow) = instant.addingReportingOverflow(delay)
    return overflow ? .max : sum
  }
}

extension DataServiceError {
  /// The error of a phase that took longer than its limit.
  package static func timeout(_ phase: Kind.Phase, host: String, limits: Limits) -> DataServiceError {
    let message =
      switch phase {
      case .connect: "no connection to \(host) within \(limits.connectTimeout.inWords)"
      case .firstByte: "no response from \(host) within \(limits.firstByteTimeout.inWords)"
      case .idle: "\(host) was silent for \(limits.idleTimeout.inWords)"
      case .total, .deadline: "the response from \(host) did not complete within the time limit"
      }
    return DataServiceError(
      .timeout(phase), message,
      remedy: phase == .connect
        ? .longerConnectTimeout : .longerTimeout)
  }
}

extension Duration {
  /// A limit, for messages: “5 seconds”, “1 second”, “1.5 seconds”, “200 ms”.
  fileprivate var inWords: String {
    let milliseconds = clampedNanoseconds / 1_000_000
    if milliseconds % 1_000 == 0 { return Counted.text(milliseconds / 1_000, "second") }
    if milliseconds < 1_000 { return "\(milliseconds) ms" }
    var text = "\(milliseconds / 1_000).\(String(1_000 + milliseconds % 1_000).dropFirst())"
    while text.hasSuffix("0") { text.removeLast() }
    return text + " seconds"
  }
}
