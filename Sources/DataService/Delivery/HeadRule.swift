internal import CacheStore
internal import PlatformFoundation

/// Makes the head of a delivery.
enum HeadRule {
  /// The head for a stored row.
  static func head(
    of row: StoredResponse, prepared: PreparedRequest, now: Int64, elapsed: Duration
  ) -> DataService.ResponseHead {
    var head = shown(
      row.head, FreshnessInputs(stored: row, now: now), bodyLength: row.body.length, prepared, elapsed)
    head.isFromElsewhere = row.isFromSharedCache
    if !row.isInStore { head.kept = .no(.elsewhere) }
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
    var head = shown(
      answer.head, FreshnessInputs(fresh: answer.head, now: now), bodyLength: answer.body.length, prepared,
      elapsed)
    head.interim = answer.interim
    head.redirects = answer.redirects
    head.wasValidated = answer.wasValidated
    head.kept = answer.kept
    head.forward = forward
    head.staleReference = staleReference
    head.sharing = answer.shared
    return head
  }

  private static func shown(
    _ head: ReceivedHead, _ freshness: FreshnessInputs, bodyLength: Int64?, _ prepared: PreparedRequest,
    _ elapsed: Duration
  ) -> DataService.ResponseHead {
    DataService.ResponseHead(
      version: head.version, status: head.status, reason: head.reason, fields: head.fields, interim: [],
      url: head.url ?? prepared.shownURL, requestURL: prepared.request.url, account: prepared.key.account,
      receivedAtMilliseconds: head.receivedAt, freshness: freshness, wasValidated: false, kept: .yes,
      elapsed: elapsed, bodyLength: bodyLength, started: head.started)
  }
}
