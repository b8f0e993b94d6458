package import CacheStore

/// The cache directives in a request's own fields (RFC 9111 section 5.2.1).
package struct RequestDirectives: Sendable, Hashable {
  /// The `Cache-Control` directives.
  package let control: CacheControl
  /// Whether `Pragma: no-cache` takes their place (section 5.4).
  package let hasPragmaNoCache: Bool

  /// Parses a request's fields. `Pragma` counts only without `Cache-Control`.
  package init(fields: HTTPFields) {
    control = CacheControl(fields: fields)
    hasPragmaNoCache =
      !fields.contains("Cache-Control")
      && fields.values(of: "Pragma").flatMap(FieldList.members).map(FieldList.lowercased).contains("no-cache")
  }

  /// Whether every stored response needs validation before use (section 5.2.1.4).
  package var demandsValidation: Bool { control.noCache != .absent || hasPragmaNoCache }

  /// Whether `max-age` accepts a response of that age in milliseconds (section 5.2.1.1). A `max-age` without a valid
  /// number accepts nothing, since the caller wanted a limit.
  package func acceptsAge(_ age: Int64) -> Bool {
    switch control.maxAge {
    case .absent: true
    case .invalid: false
    case .value(let seconds): age <= seconds * 1000
    }
  }

  /// Whether `min-fresh` accepts a response that stays fresh for that many milliseconds (section 5.2.1.3).
  package func acceptsFreshness(_ remaining: Int64) -> Bool {
    switch control.minFresh {
    case .absent: true
    case .invalid: false
    case .value(let seconds): remaining >= seconds * 1000
    }
  }

  /// Whether `max-stale` accepts a response that has been stale for that many milliseconds (section 5.2.1.2).
  package func asksForStaleness(_ staleness: Int64) -> Bool {
    switch control.maxStale {
    case .absent: false
    case .any: true
    case .seconds(let seconds): staleness <= seconds * 1000
    }
  }

  /// Whether the directives reject a response that has been stale for that many milliseconds. `max-age` and
  /// `min-fresh` alone accept none (section 5.2.1.1); `max-stale` sets the limit.
  package func rulesOutStaleness(_ staleness: Int64) -> Bool {
    if control.maxStale != .absent { return !asksForStaleness(staleness) }
    return demandsValidation || control.maxAge != .absent || control.minFresh != .absent
  }
}
