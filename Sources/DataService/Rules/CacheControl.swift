package import CacheStore

/// The directives of `Cache-Control`, of a request or of a response (RFC 9111 section 5.2).
///
/// Parsing never fails. Names are compared without case, an argument may be a token or a quoted string, and unknown
/// directives are kept but ignored (section 5.2.3).
package struct CacheControl: Sendable, Hashable {
  /// One directive, as written in the field.
  package struct Directive: Sendable, Hashable {
    /// The name, in lower case.
    package let name: String
    /// The argument without quotation marks; `nil` where there is no equals sign.
    package let argument: String?
    /// Whether white space surrounds the equals sign, which the grammar forbids.
    package let hasStraySpace: Bool
  }

  /// The meaning of `no-cache`.
  package enum NoCache: Sendable, Hashable {
    /// Nothing.
    case absent
    /// The response may not be reused without validation.
    case whole
    /// These fields, in lower case, need validation before reuse (section 5.2.2.4, qualified form).
    case fields([String])
  }

  /// The value of a directive that takes a number of seconds.
  package enum Seconds: Sendable, Hashable {
    /// The directive is not there.
    case absent
    /// The directive has no number, or appears several times with different numbers.
    case invalid
    /// This many seconds, at most ``DeltaSeconds/maximum``.
    case value(Int64)

    /// The number, or `nil` if the directive is absent or invalid.
    package var value: Int64? {
      if case .value(let seconds) = self { seconds } else { nil }
    }
  }

  /// The meaning of `max-stale` (section 5.2.1.2).
  package enum MaxStale: Sendable, Hashable {
    /// Absent: the request does not accept stale responses.
    case absent
    /// The request accepts any staleness.
    case any
    /// The request accepts staleness up to this many seconds.
    case seconds(Int64)
  }

  /// The directives, in order.
  package let directives: [Directive]

  /// Whether `no-store` appears where the grammar does not allow it: behind a semicolon or in quotation marks.
  private let isNoStoreMisspelt: Bool

  /// The directives in a combined field value; `nil` gives none.
  package init(_ value: String?) {
    let members = value.map(FieldList.members) ?? []
    directives = members.map(Self.directive)
    isNoStoreMisspelt = members.contains(where: Self.misspellsNoStore)
  }

  /// The directives in the `Cache-Control` fields of a message.
  package init(fields: HTTPFields) {
    self.init(fields.combined("Cache-Control"))
  }

  /// Whether the fields forbid storing (``noStore``). Parses only fields that mention `no-store`.
  package static func forbidsStoring(_ fields: HTTPFields) -> Bool {
    fields.contains("Cache-Control", mentioning: "no-store") && CacheControl(fields: fields).noStore
  }

  /// Whether there is a directive of that name, given in lower case.
  package func has(_ name: String) -> Bool { directives.contains { $0.name == name } }

  /// The number of seconds that a directive gives.
  ///
  /// Repeats of one number count once. Different numbers are invalid: section 4.2.1 allows either the first value or
  /// treating the response as stale, and stale is the safe choice.
  package func seconds(_ name: String) -> Seconds {
    let named = directives.filter { $0.name == name }
    guard let first = named.first else { return .absent }
    guard let value = Self.number(first), named.allSatisfy({ Self.number($0) == value }) else {
      return .invalid
    }
    return .value(value)
  }

  private static func number(_ directive: Directive) -> Int64? {
    directive.hasStraySpace ? nil : directive.argument.flatMap(DeltaSeconds.parse)
  }

  /// Whether a member contains the word `no-store` between semicolons, white space and quotation marks, but not in
  /// the quoted argument of another directive.
  private static func misspellsNoStore(_ member: String) -> Bool {
    var rest = Array(member.utf8)[...]
    while !rest.isEmpty {
      let word = rest.prefix { !isBorder($0) }
      rest = rest.dropFirst(word.count)
      let name = word.prefix { $0 != Ascii.equals }
      if name.count == 8, name.map(\.asciiLowercased).elementsEqual("no-store".utf8) { return true }
      let isArgument = word.last == Ascii.equals && rest.first == Ascii.quote
      if isArgument, let end = rest.dropFirst().firstIndex(of: Ascii.quote) { rest = rest[end...] }
      rest = rest.dropFirst()
    }
    return false
  }

  private static func isBorder(_ byte: UInt8) -> Bool {
    switch byte {
    case Ascii.space, Ascii.tab, Ascii.quote, Ascii.comma, UInt8(ascii: ";"), UInt8(ascii: "'"): true
    default: false
    }
  }

  private static func directive(_ member: String) -> Directive {
    guard let (name, raw) = FieldList.split(member, at: Ascii.equals) else {
      return Directive(name: FieldList.lowercased(member), argument: nil, hasStraySpace: false)
    }
    let argument = FieldList.trimmed(raw)
    return Directive(
      name: FieldList.lowercased(FieldList.trimmed(name)), argument: FieldList.unquoted(argument) ?? argument,
      hasStraySpace: FieldList.trimmed(name) != name || argument != raw)
  }
}

extension CacheControl {
  /// Neither the request nor the response may be stored (sections 5.2.1.5 and 5.2.2.5).
  ///
  /// An origin that writes `max-age=60; no-store` or `"no-store"` means it, and not storing is the safer reading.
  package var noStore: Bool { has("no-store") || isNoStoreMisspelt }
  /// `max-age` (sections 5.2.1.1 and 5.2.2.1).
  package var maxAge: Seconds { seconds("max-age") }
  /// `private` (section 5.2.2.7). It restricts shared caches only; this private cache may store such a response.
  package var isPrivate: Bool { has("private") }
  /// `public` (section 5.2.2.9).
  package var isPublic: Bool { has("public") }
  /// `s-maxage` (section 5.2.2.10). It concerns shared caches only.
  package var sharedMaxAge: Seconds { seconds("s-maxage") }
  /// `must-revalidate` (section 5.2.2.2).
  package var mustRevalidate: Bool { has("must-revalidate") }
  /// Whether a shared cache may not serve the response stale: by `proxy-revalidate` (section 5.2.2.8), or by
  /// `s-maxage`, which means that too (section 5.2.2.10).
  package var mustRevalidateShared: Bool { has("proxy-revalidate") || has("s-maxage") }
  /// `must-understand` (section 5.2.2.3).
  package var mustUnderstand: Bool { has("must-understand") }
  /// `immutable` (RFC 8246).
  package var isImmutable: Bool { has("immutable") }
  /// `only-if-cached` (section 5.2.1.7).
  package var onlyIfCached: Bool { has("only-if-cached") }
  /// `min-fresh` in seconds (section 5.2.1.3).
  package var minFresh: Seconds { seconds("min-fresh") }
  /// `stale-while-revalidate` in seconds (RFC 5861 section 3).
  package var staleWhileRevalidate: Seconds { seconds("stale-while-revalidate") }
  /// `stale-if-error` in seconds (RFC 5861 section 4).
  package var staleIfError: Seconds { seconds("stale-if-error") }

  /// `no-cache` (sections 5.2.1.4 and 5.2.2.4). The more restrictive reading wins: the directive applies to the whole
  /// response if both forms are present, or if the list names no valid field.
  package var noCache: NoCache {
    let named = directives.filter { $0.name == "no-cache" }
    guard !named.isEmpty else { return .absent }
    var fields: [String] = []
    for directive in named {
      let names = directive.argument.map { FieldList.members($0).map(FieldList.lowercased) } ?? []
      guard !names.isEmpty, names.allSatisfy(FieldList.isToken) else { return .whole }
      fields += names
    }
    return .fields(fields)
  }

  /// `max-stale`; an invalid one counts as absent.
  package var maxStale: MaxStale {
    guard has("max-stale") else { return .absent }
    if directives.allSatisfy({ $0.name != "max-stale" || $0.argument == nil }) { return .any }
    return seconds("max-stale").value.map(MaxStale.seconds) ?? .absent
  }
}

/// A non-negative whole number of seconds in a field value (RFC 9111 section 1.2.2).
package enum DeltaSeconds {
  /// The largest value. Larger numbers, and those that overflow, count as this one.
  package static let maximum: Int64 = 1 << 31

  /// The seconds in the text, or `nil` unless it is all digits, however many.
  package static func parse(_ text: String) -> Int64? {
    guard !text.isEmpty else { return nil }
    var value: Int64 = 0
    for byte in text.utf8 {
      guard byte.isAsciiDigit else { return nil }
      // Stays below 2^31 * 10 + 10, so the arithmetic cannot overflow, however long the number.
      value = min(value * 10 + Int64(byte - 0x30), maximum)
    }
    return value
  }
}

/// Parses `Retry-After` (RFC 9110 section 10.2.3).
package enum RetryAfter {
  /// The requested delay: `value` is a number of seconds or a date. `nil` if it is neither; zero for a date in the
  /// past.
  ///
  /// A date is compared with the response's own `Date` if that is valid, since both come from the same clock.
  package static func delay(_ value: String, date: String? = nil, now: Int64) -> Duration? {
    if let seconds = DeltaSeconds.parse(value) { return .seconds(seconds) }
    guard let instant = HTTPDate.parse(value, now: now) else { return nil }
    return .milliseconds(max(0, instant - (date.flatMap { HTTPDate.parse($0, now: now) } ?? now)))
  }
}

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
