internal import CacheStore
internal import FoundationEssentials

/// The head that goes with a delivery.
enum HeadRule {
  /// Of a stored row.
  static func head(
    of row: StoredResponse, prepared: PreparedRequest, now: Int64, elapsed: Duration
  ) -> DataService.ResponseHead {
    let age = Freshness.age(of: row, now: now)
    let lifetime = Freshness.lifetime(of: row)
    return DataService.ResponseHead(
      version: row.httpVersion, status: row.status, reason: row.reason, fields: row.fields, interim: [],
      url: row.responseURL ?? prepared.shownURL, requestURL: prepared.request.url,
      account: prepared.key.account,
      receivedAtMilliseconds: row.receivedAt, age: .milliseconds(age), isStale: age >= lifetime.milliseconds,
      wasValidated: false, kept: .yes, elapsed: elapsed,
      bodyLength: row.body.length, hitTimeToLive: (lifetime.milliseconds - age) / 1000)
  }

  /// Of an exchange's answer.
  static func head(
    of answer: Answer, prepared: PreparedRequest, now: Int64, elapsed: Duration
  ) -> DataService.ResponseHead {
    let age = Freshness.currentAge(
      fields: answer.fields, requestedAt: answer.requestedAt, receivedAt: answer.receivedAt, now: now)
    let lifetime = Freshness.lifetime(
      status: answer.status, fields: answer.fields, receivedAt: answer.receivedAt)
    return DataService.ResponseHead(
      version: answer.version, status: answer.status, reason: answer.reason, fields: answer.fields,
      interim: answer.interim, url: answer.url, requestURL: prepared.request.url,
      account: prepared.key.account,
      receivedAtMilliseconds: answer.receivedAt, age: .milliseconds(age),
      isStale: age >= lifetime.milliseconds,
      wasValidated: answer.wasValidated, kept: answer.kept, elapsed: elapsed, bodyLength: answer.body.length,
      hitTimeToLive: nil)
  }
}
