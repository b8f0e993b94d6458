internal import CacheStore

extension AnswerRule {
  /// Decides under `http`: translates the verdict of RFC 9111 into the outcomes that the other policies use.
  static func decideHTTP(
    status: Int, fields: HTTPFields, situation: Situation, prepared: PreparedRequest, row: StoredResponse?,
    now: Int64
  ) -> Decision {
    if (200..<300).contains(status), !situation.isAcceptedMediaType {
      return Decision(.mediaTypeFailure, .untouched(.mediaType))
    }
    // A captive portal's page changes no stored response under any policy (law 5); it is delivered. A part is no page,
    // and is never stored.
    if (200..<300).contains(status), status != 206, situation.isPortalSuspect, !situation.isPassThrough {
      return Decision(.fresh, .untouched(.portal))
    }
    var judged = HTTPAnswer.Situation(method: prepared.request.method, requestFields: prepared.fields)
    judged.isRead = prepared.request.isRead
    judged.wasConditional = situation.wasConditional
    judged.row = row
    judged.isRepeated = situation.isRepeated
    judged.isNoStoreChain = situation.isNoStoreChain
    switch HTTPAnswer.decide(status: status, fields: fields, situation: judged, now: now) {
    case .deliver(.good): return Decision(.fresh, .replaced)
    case .deliver(.forHTTPOnly): return Decision(.fresh, .keptForHTTPOnly)
    case .deliver(.no(let reason)): return Decision(.fresh, .untouched(reason))
    case .freshen(let unwritten):
      return Decision(.freshByValidation, unwritten.map(Row.untouched) ?? .freshened)
    case .deliverAndFreshen: return Decision(.fresh, .freshenedByHead)
    case .deliverAndInvalidate: return Decision(.fresh, .invalidatedByHead)
    // Each load serves its own stored response.
    case .serveStale: return Decision(.statusFailure, .untouched(.status))
    case .repeatUnconditional: return Decision(.repeatUnconditional, .untouched(.status))
    case .protocolFailure: return Decision(.protocolFailure, .untouched(.status))
    }
  }
}

extension RetryAfter {
  /// The delay that `Retry-After` asks for, for the statuses whose `Retry-After` is honoured (RFC 9110 section 10.2.3,
  /// RFC 6585); `nil` for any other.
  static func delay(of answer: Answer, now: Int64) -> Duration? {
    delay(status: answer.head.status, fields: answer.head.fields, now: now)
  }

  static func delay(status: Int, fields: HTTPFields, now: Int64) -> Duration? {
    guard [429, 503].contains(status) else { return nil }
    return fields["Retry-After"].flatMap { delay($0, date: fields["Date"], now: now) }
  }
}
