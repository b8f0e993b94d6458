package import CacheStore

/// The fields a request of the `http` policy is forwarded with (RFC 9111 section 4.3.1).
package enum HTTPExchangeFields {
  /// The caller's fields; where the stored response is to be validated, its validators in place of the caller's
  /// own, which are then judged against what the validation gives (section 4.3.2).
  package static func fields(caller: HTTPFields, decision: HTTPReuse.Decision) -> HTTPFields {
    guard decision.action == .validate || decision.action == .reuseWhileRevalidating, let row = decision.row
    else {
      return caller
    }
    let conditions = Validators.conditionalFields(for: row)
    guard !conditions.isEmpty else { return caller }
    var fields = caller
    for name in ["If-None-Match", "If-Modified-Since"] { fields.remove(name) }
    // The refresh behind a stale answer is for the store: it wants the whole.
    if decision.action == .reuseWhileRevalidating {
      for name in ["Range", "If-Range"] { fields.remove(name) }
    }
    fields.append(contentsOf: conditions)
    return fields
  }
}
