import CacheStore
import DataService
import PlatformFoundation

/// A request's and a response's fields, sent through every rule of the `http` policy.
struct FuzzMessage {
  let request: HTTPFields
  let response: HTTPFields

  static let noon: Int64 = 784_111_777_000

  /// A description of the property that the fields break, or `nil`.
  var violation: String? {
    let stored = StoredFields.storable(response, secretNames: ["x-secret"], receivedAt: Self.noon)
    for name in ["connection", "transfer-encoding", "set-cookie", "x-secret"] where stored.contains(name) {
      return "\(name) is stored"
    }
    let freshened = Validators.freshened(stored: stored, by: response, secretNames: ["x-secret"])
    if freshened.contains("set-cookie") || freshened.contains("x-secret") {
      return "a 304 stores what is not stored"
    }
    let row = makeRow(stored)
    return reuseViolation(row) ?? servedViolation(row) ?? answerViolation(row)
  }

  private func makeRow(_ fields: HTTPFields) -> StoredResponse {
    StoredResponse(
      id: 1, accountID: 1,
      variant: Vary.variant(names: Vary.names(in: fields), requestFields: request) { $1 },
      vary: Vary.names(in: fields),
      head: ReceivedHead(
        status: 200, fields: fields, started: StartMark(boot: "", nanoseconds: 0), receivedAt: Self.noon),
      body: .init(id: 1, length: 11, firstChunk: Data("01234567890".utf8)))
  }

  private func reuseViolation(_ row: StoredResponse) -> String? {
    var wasReused = true
    for seconds in [0, 60, 1 << 33] as [Int64] {
      let now = Self.noon + seconds * 1000
      let decision = HTTPReuse.decide(method: .get, fields: request, rows: [row], now: now) { $1 }
      let isReused = decision.action == .reuse
      if row.vary != "*", decision.row == nil, decision.reason != .precondition {
        return "a row does not match its own request"
      }
      if isReused, !wasReused { return "reused after it was not" }
      if isReused, row.vary == "*" { return "Vary: * is reused" }
      if Freshness.age(of: row, now: now) < 0 { return "a negative age" }
      let fields = HTTPExchangeFields.fields(
        caller: request, conditions: decision.row.map(Validators.conditionalFields) ?? [:])
      if decision.row != nil, decision.action == .validate, fields.values(of: "If-None-Match").count > 1 {
        return "two conditions"
      }
      wasReused = isReused
    }
    return nil
  }

  private func servedViolation(_ row: StoredResponse) -> String? {
    for method in [RequestMethod.get, .head] {
      let served = ServedResponse(row, method: method, requestFields: request, now: Self.noon)
      if ![200, 206, 304, 416].contains(served.status) { return "served as \(served.status)" }
      if served.body.lowerBound < 0 || served.body.upperBound > 11 { return "bytes \(served.body)" }
      if served.fields.values(of: "Age").count != 1 {
        return "Age is there \(served.fields.values(of: "Age").count) times"
      }
    }
    return nil
  }

  private func answerViolation(_ row: StoredResponse) -> String? {
    var situation = AnswerRule.Situation()
    situation.requestFields = request
    situation.row = row
    situation.wasConditional = true
    for status in [200, 304, 404, 503] {
      let outcome = HTTPAnswer.decide(status: status, fields: response, situation: situation, now: Self.noon)
      let forbids = CacheControl(fields: request).noStore
      if forbids,
        [.freshened, .replaced, .keptForHTTPOnly].contains(outcome.row)
      {
        return "no-store leads to \(outcome)"
      }
    }
    return nil
  }
}
