package import CacheStore

/// The fields of a forwarded request under `http` (RFC 9111 section 4.3.1).
package enum HTTPExchangeFields {
  /// The caller's fields with the validators of the stored response.
  ///
  /// - Parameters:
  ///   - caller: The caller's own fields. The validators replace its preconditions, which are evaluated afterwards
  ///     against the validated response (section 4.3.2).
  ///   - conditions: The validators; empty if there is nothing to validate.
  ///   - isForStore: Whether the refresh only fills the store, as behind a stale answer; it then needs the whole
  ///     body.
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
