package import CacheStore
package import DataService
package import FixtureServer
internal import FoundationEssentials

/// A short conversation under the `http` policy: what the origin would answer at each step, and what has to come of it.
/// Both the service and the built command are held to it.
package struct HTTPCase: Sendable, CustomStringConvertible {
  /// One load.
  package struct Step: Sendable {
    /// The method.
    package var method: RequestMethod = .get
    /// The caller's fields.
    package var fields: HTTPFields = [:]
    /// What the origin answers if it is asked; `nil` hangs up.
    package var reply: FixtureReply?
    /// What has to come of it.
    package var outcome: Outcome
  }

  /// What has to come of a load.
  package struct Outcome: Sendable {
    /// `stored`, `fresh`, `failure`, or `stored, failure`.
    package var kind: String
    /// The status, where something is delivered.
    package var status: Int?
    /// The body, where something is delivered.
    package var body: String?
    /// How many requests reach the origin.
    package var exchanges: Int
    /// Fields that the last of them has to carry, or with an empty value must not carry.
    package var sent: [String: String] = [:]
    /// Fields that the delivery has to carry, or with an empty value must not carry.
    package var received: [String: String] = [:]
  }

  /// The rule the case shows, in words.
  package let name: String
  /// The loads, one after the other, of one URL.
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

  /// The origin is asked in vain, and the stored response answers, followed by the reason.
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
  /// What a load traces when the store has not answered within 20 ms, so that the exchange begins without it (law 3)
  /// and another outcome is right. A case is then told again.
  package static let slowStore = "the store is slow"

  /// Runs the case until the store was quick enough for its rule to show; a few times at most.
  package func settledDifferences(
    _ attempt: () async throws -> (differences: [String], storeWasSlow: Bool)
  ) async throws -> [String] {
    var found = try await attempt()
    for _ in 0..<8 where found.storeWasSlow { found = try await attempt() }
    return found.differences
  }

  /// Runs the steps against an origin of its own, and says what differed; empty where nothing did.
  ///
  /// - Parameter load: Makes the load and says what was delivered.
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
      // A connection that dies unused is tried anew by the network library, which counts as one exchange.
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
