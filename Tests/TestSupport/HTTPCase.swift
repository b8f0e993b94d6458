package import CacheStore
package import DataService
package import FixtureServer
internal import PlatformFoundation

/// A short series of loads under the `http` policy: how the origin answers each, and the expected outcome. The service
/// and the built command must both pass it.
package struct HTTPCase: Sendable, CustomStringConvertible {
  /// One load.
  package struct Step: Sendable {
    /// The method.
    package var method: RequestMethod = .get
    /// The caller's fields.
    package var fields: HTTPFields = [:]
    /// The origin's reply, if it is asked; `nil` closes the connection.
    package var reply: FixtureReply?
    /// The expected outcome.
    package var outcome: Outcome
  }

  /// The expected outcome of a load.
  package struct Outcome: Sendable {
    /// `stored`, `fresh`, `failure`, or `stored, failure`.
    package var kind: String
    /// The status, if something is delivered.
    package var status: Int?
    /// The body, if something is delivered.
    package var body: String?
    /// How many requests reach the origin.
    package var exchanges: Int
    /// Fields that the last request must have or, with an empty value, must not have.
    package var sent: [String: String] = [:]
    /// Fields that the delivery must have or, with an empty value, must not have.
    package var received: [String: String] = [:]
  }

  /// The rule the case shows, in words.
  package let name: String
  /// The loads of one URL, one after the other.
  package let steps: [Step]

  package var description: String { name }
}

extension HTTPCase.Step {
  /// The stored response answers; the origin is not asked.
  static func stored(
    _ body: String, _ fields: HTTPFields = [:], status: Int = 200, method: RequestMethod = .get,
    received: [String: String] = [:]
  ) -> Self {
    Self(
      method: method, fields: fields, reply: .status(500, "not to be asked"),
      outcome: .init(kind: "stored", status: status, body: body, exchanges: 0, received: received))
  }

  /// The origin is asked and its answer delivered.
  static func asked(
    _ reply: FixtureReply, _ fields: HTTPFields = [:], gives body: String? = nil, status: Int? = nil,
    method: RequestMethod = .get, exchanges: Int = 1, sent: [String: String] = [:],
    received: [String: String] = [:]
  ) -> Self {
    let text = body ?? (method == .head ? "" : String(decoding: reply.body, as: UTF8.self))
    return Self(
      method: method, fields: fields, reply: reply,
      outcome: .init(
        kind: "fresh", status: status ?? reply.status, body: text, exchanges: exchanges, sent: sent,
        received: received))
  }

  /// The origin gives no usable answer; the stored response is delivered, followed by the failure.
  static func staleStored(_ body: String, _ fields: HTTPFields = [:], origin reply: FixtureReply? = nil)
    -> Self
  {
    Self(
      fields: fields, reply: reply,
      outcome: .init(kind: "stored, failure", status: 200, body: body, exchanges: 1))
  }

  /// Nothing is delivered.
  static func failure(_ fields: HTTPFields = [:], origin reply: FixtureReply? = nil, exchanges: Int = 1)
    -> Self
  {
    Self(fields: fields, reply: reply, outcome: .init(kind: "failure", exchanges: exchanges))
  }
}

extension HTTPCase {
  /// The trace of a load whose store did not answer within 20 ms. The exchange then begins without it (law 3), and
  /// another outcome is right, so the case is run again.
  package static let slowStore = "the store is slow"

  /// Runs the case until the store is fast enough for its rule to apply, a few times at most.
  package func settledDifferences(
    _ attempt: () async throws -> (differences: [String], storeWasSlow: Bool)
  ) async throws -> [String] {
    var found = try await attempt()
    for _ in 0..<8 where found.storeWasSlow { found = try await attempt() }
    return found.differences
  }

  /// Runs the steps against a new origin and returns the differences; empty if there are none.
  ///
  /// - Parameter load: Performs the load and returns what was delivered.
  package func differences(
    _ load: (_ step: Step, _ url: String) async throws -> (
      kind: String, status: Int?, body: String?, fields: HTTPFields
    )
  ) async throws -> [String] {
    let origin = try OneReplyOrigin()
    var differences: [String] = []
    for (number, step) in steps.enumerated() {
      origin.answer(step.reply)
      origin.server.forgetRequests()
      let got = try await load(step, origin.server.url + "/case")
      let requests = origin.server.requests()
      func expect(_ what: String, _ found: String, _ wanted: String) {
        if found != wanted { differences.append("step \(number + 1): \(what) is \(found), not \(wanted)") }
      }
      expect("the delivery", got.kind, step.outcome.kind)
      expect("the status", "\(got.status ?? 0)", "\(step.outcome.status ?? got.status ?? 0)")
      expect("the body", got.body ?? "", step.outcome.body ?? got.body ?? "")
      // libcurl retries a request if a reused connection dies before any response; that counts as one exchange.
      let exchanges = step.reply == nil ? min(requests.count, 1) : requests.count
      expect("the number of exchanges", "\(exchanges)", "\(step.outcome.exchanges)")
      for (name, value) in step.outcome.sent { expect("sent \(name)", requests.last?[name] ?? "", value) }
      for (name, value) in step.outcome.received {
        expect("received \(name)", got.fields.combined(name) ?? "", value)
      }
    }
    origin.server.stop()
    return differences
  }
}
