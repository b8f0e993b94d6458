package import CacheStore

/// What a request's own fields ask of a cache (RFC 9111 section 5.2.1).
package struct RequestDirectives: Sendable, Hashable {
  /// The `Cache-Control` directives.
  package let control: CacheControl
  /// Whether `Pragma: no-cache` stands for them (section 5.4).
  package let hasPragmaNoCache: Bool

  /// The directives in a request's fields. `Pragma` counts only where there is no `Cache-Control`.
  package init(fields: HTTPFields) {
    control = CacheControl(fields: fields)
    hasPragmaNoCache =
      !fields.contains("Cache-Control")
      && fields.values(of: "Pragma").flatMap(FieldList.members).map(FieldList.lowercased).contains("no-cache")
  }

  /// Whether nothing stored may be used without validation (section 5.2.1.4).
  package var demandsValidation: Bool { control.noCache != .absent || hasPragmaNoCache }

  /// Whether a response of that age, in milliseconds, is young enough (section 5.2.1.1). A `max-age` without a
  /// number accepts nothing: the caller wanted a limit.
  package func acceptsAge(_ age: Int64) -> Bool {
    switch control.maxAge {
    case .absent: true
    case .invalid: false
    case .value(let seconds): age <= seconds * 1000
    }
  }

  /// Whether a response that stays fresh for that many milliseconds stays so long enough (section 5.2.1.3).
  package func acceptsFreshness(_ remaining: Int64) -> Bool {
    switch control.minFresh {
    case .absent: true
    case .invalid: false
    case .value(let seconds): remaining >= seconds * 1000
    }
  }

  /// Whether the caller takes a response that has been stale for that many milliseconds (section 5.2.1.2).
  package func asksForStaleness(_ staleness: Int64) -> Bool {
    switch control.maxStale {
    case .absent: false
    case .any: true
    case .seconds(let seconds): staleness <= seconds * 1000
    }
  }

  /// Whether the caller has said which staleness it takes, so that what it has not said is not taken: `max-age` and
  /// `min-fresh` mean none (section 5.2.1.1), `max-stale` means so much.
  package func rulesOutStaleness(_ staleness: Int64) -> Bool {
    if control.maxStale != .absent { return !asksForStaleness(staleness) }
    return demandsValidation || control.maxAge != .absent || control.minFresh != .absent
  }
}
