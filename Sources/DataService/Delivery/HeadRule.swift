internal import CacheStore
internal import PlatformFoundation

/// Makes the head of a delivery.
enum HeadRule {
  /// The head for a stored row.
  static func head(
    of row: StoredResponse, prepared: PreparedRequest, now: Int64, elapsed: Duration
  ) -> DataService.ResponseHead {
    var head = DataService.ResponseHead(
      version: row.httpVersion, status: row.status, reason: row.reason, fields: row.fields, interim: [],
      url: row.responseURL ?? prepared.shownURL, requestURL: prepared.request.url,
      account: prepared.key.account,
      receivedAtMilliseconds: row.receivedAt,
      freshness: FreshnessInputs(stored: row, now: now),
      wasValidated: false, kept: .yes, elapsed: elapsed, bodyLength: row.body.length, started: row.started)
    if row.isFromTier {
      head.isFromTier = true
      head.kept = .no(.inTier)
    }
    return head
  }

  /// The head for an exchange's answer.
  ///
  /// - Parameters:
  ///   - forward: The reason for the exchange, if it does not depend on the stored row.
  ///   - staleReference: The freshness inputs of that row.
  static func head(
    of answer: Answer, prepared: PreparedRequest, now: Int64, elapsed: Duration,
    forward: CacheStatus.Forward?, staleReference: FreshnessInputs?
  ) -> DataService.ResponseHead {
    var head = DataService.ResponseHead(
      version: answer.version, status: answer.status, reason: answer.reason, fields: answer.fields,
      interim: answer.interim, redirects: answer.redirects, url: answer.url, requestURL: prepared.request.url,
      account: prepared.key.account,
      receivedAtMilliseconds: answer.receivedAt,
      freshness: FreshnessInputs(
        status: answer.status, fields: answer.fields, requestedAt: answer.requestedAt,
        receivedAt: answer.receivedAt, now: now, isStored: false),
      wasValidated: answer.wasValidated, kept: answer.kept, elapsed: elapsed, bodyLength: answer.body.length,
      forward: forward, staleReference: staleReference, started: answer.started)
    head.sharing = answer.shared
    return head
  }
}
