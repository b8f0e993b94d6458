import CacheStore

extension Explain {
  /// The terms that decide about a row: its age, its lifetime, and the directives of response and request.
  static func terms(of row: StoredResponse, subject: Subject) -> [DataService.Explanation.Term] {
    ageTerms(of: row, now: subject.now) + lifetimeTerms(of: row, now: subject.now)
      + directiveTerms(of: row) + requestTerms(fields: subject.fields) + validatorTerms(of: row)
  }

  private static func term(_ name: String, _ value: String, _ section: String) -> DataService.Explanation.Term
  {
    .init(name: name, value: value, section: section)
  }

  private static func ageTerms(of row: StoredResponse, now: Int64) -> [DataService.Explanation.Term] {
    let section = "RFC 9111 section 4.2.3"
    let age = AgeTerms(
      fields: row.fields, requestedAt: row.requestedAt, receivedAt: row.receivedAt, now: now)
    let date = Freshness.dateValue(fields: row.fields, receivedAt: row.receivedAt)
    var terms = [
      term("date_value", HTTPDate.format(date), section),
      term("response_time", HTTPDate.format(row.receivedAt), section),
      term("age_value", duration(age.ageValue), section),
      term("apparent_age", duration(age.apparentAge), section),
      term("response_delay", duration(age.responseDelay), section),
      term("corrected_initial_age", duration(age.correctedInitialAge), section),
      term("resident_time", duration(age.residentTime), section),
      term("current_age", duration(Freshness.age(of: row, now: now)), section),
    ]
    if Freshness.isFromFuture(receivedAt: row.receivedAt, now: now) {
      terms.append(
        term("from the future", "the clock was set back: the age is not known, and counts as 0", section))
    }
    return terms
  }

  private static func lifetimeTerms(of row: StoredResponse, now: Int64) -> [DataService.Explanation.Term] {
    let lifetime = Freshness.lifetime(of: row)
    let staleness = HTTPStaleness.staleness(of: row, now: now)
    let source =
      switch lifetime.source {
      case .sharedMaxAge: "from s-maxage"
      case .maxAge: "from max-age"
      case .expires: "from Expires less Date"
      case .heuristic: "a tenth of the time since Last-Modified"
      case .none: "nothing gives one"
      }
    let validity = lifetime.isInvalid ? ", which contradicts itself or cannot be read" : ""
    let section = lifetime.source == .heuristic ? "RFC 9111 section 4.2.2" : "RFC 9111 section 4.2.1"
    return [
      term("freshness_lifetime", "\(duration(lifetime.milliseconds)), \(source)\(validity)", section),
      staleness >= 0
        ? term("stale for", duration(staleness), "RFC 9111 section 4.2")
        : term("fresh for", duration(-staleness), "RFC 9111 section 4.2"),
    ]
  }

  private static func directiveTerms(of row: StoredResponse) -> [DataService.Explanation.Term] {
    let control = CacheControl(fields: row.fields)
    var terms: [DataService.Explanation.Term] = []
    if row.isInvalid {
      terms.append(term("invalid", "an unsafe request has changed the target", "RFC 9111 section 4.4"))
    }
    switch control.noCache {
    case .absent: break
    case .whole: terms.append(term("no-cache", "not without validation", "RFC 9111 section 5.2.2.4"))
    case .fields(let names):
      terms.append(
        term(
          "no-cache", "not without validation: \(names.joined(separator: ", "))", "RFC 9111 section 5.2.2.4"))
    }
    if control.mustRevalidate {
      terms.append(term("must-revalidate", "not once stale", "RFC 9111 section 5.2.2.2"))
    }
    if control.isImmutable {
      terms.append(term("immutable", "not changed while fresh", "RFC 8246 section 2"))
    }
    if let seconds = control.staleWhileRevalidate.value {
      terms.append(term("stale-while-revalidate", duration(seconds * 1000), "RFC 5861 section 3"))
    }
    if let seconds = control.staleIfError.value {
      terms.append(term("stale-if-error", duration(seconds * 1000), "RFC 5861 section 4"))
    }
    return terms
  }

  private static func requestTerms(fields: HTTPFields) -> [DataService.Explanation.Term] {
    let directives = RequestDirectives(fields: fields)
    var terms = directives.control.directives.map { directive in
      term(
        "request \(directive.name)", directive.argument ?? "set", "RFC 9111 section 5.2.1")
    }
    if directives.hasPragmaNoCache {
      terms.append(term("request Pragma", "no-cache", "RFC 9111 section 5.4"))
    }
    return terms
  }

  private static func validatorTerms(of row: StoredResponse) -> [DataService.Explanation.Term] {
    ["ETag", "Last-Modified"].compactMap { name in
      row.fields[name].map { term(name, $0, "RFC 9111 section 4.3.1") }
    }
  }

  /// The changes that would lead to another verdict.
  static func changes(subject: Subject, row: StoredResponse?, decision: HTTPReuse.Decision) -> [String] {
    // Nothing of what is stored, nor its absence, matters to it.
    if subject.isPassThrough { return [] }
    guard let row else {
      let missing =
        subject.rows.isEmpty
        ? "a good response would be stored under this key"
        : "a request with the headers of a stored variant would match it"
      return [missing]
    }
    var changes: [String] = []
    let staleness = HTTPStaleness.staleness(of: row, now: subject.now)
    if staleness < 0 {
      changes.append(
        "in \(duration(-staleness)), at \(HTTPDate.format(subject.now.minus(staleness))), it is stale")
    } else if Freshness.lifetime(of: row).source == .none {
      changes.append("max-age or Expires in the response would give it a lifetime")
    }
    if !row.vary.isEmpty {
      changes.append("other values of these request headers would not match: \(row.vary)")
    }
    if row.isImported {
      changes.append("it was imported: the next refresh is unconditional, and replaces it")
    } else if row.isLocal {
      changes.append("a program has stored it: the next refresh is unconditional, and replaces it")
    } else if !Validators.canValidate(row) {
      changes.append("an ETag or Last-Modified in the response would make a refresh conditional")
    }
    changes += changesOfStale(
      row, staleness: staleness, directives: RequestDirectives(fields: subject.fields))
    if decision.reason == .redirected {
      changes.append("asking for the URL that answered would find it fresh or stale by its age")
    }
    return changes
  }

  private static func changesOfStale(
    _ row: StoredResponse, staleness: Int64, directives: RequestDirectives
  ) -> [String] {
    guard staleness >= 0, !HTTPStaleness.isForbidden(row) else { return [] }
    let seconds = (staleness + 999) / 1000
    return directives.asksForStaleness(staleness)
      ? [] : ["under http, Cache-Control: max-stale=\(seconds) in the request would accept it"]
  }
}
