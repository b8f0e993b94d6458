package import CacheStore

/// The fields a request of the `http` policy is forwarded with (RFC 9111 section 4.3.1).
package enum HTTPExchangeFields {
  /// The caller's fields with the validators of the stored response.
  ///
  /// - Parameters:
  ///   - caller: The caller's own fields. Its preconditions give way to the validators, and are judged against what
  ///     the validation gives (section 4.3.2).
  ///   - conditions: The validators; empty where nothing is validated.
  ///   - isForStore: Whether the refresh is for the store alone, as behind a stale answer: it wants the whole.
  package static func fields(caller: HTTPFields, conditions: HTTPFields, isForStore: Bool = false)
    -> HTTPFields
  {
    var fields = caller
    if !conditions.isEmpty || isForStore {
      for name in ["If-None-Match", "If-Modified-Since"] { fields.remove(name) }
    }
    if isForStore {
      for name in ["Range", "If-Range"] { fields.remove(name) }
    }
    fields.append(contentsOf: conditions)
    return fields
  }
}
