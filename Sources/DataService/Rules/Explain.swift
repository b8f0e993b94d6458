package import CacheStore

/// Explains the decision about a request. It decides nothing itself but calls the same rules as a load.
package enum Explain {
  /// The request and rows to explain.
  package struct Subject {
    /// The key.
    package var key: RequestKey
    /// The request's method.
    package var method: RequestMethod
    /// The caller's own fields.
    package var fields: HTTPFields
    /// Whether the request is marked as a read.
    package var isRead: Bool
    /// Whether the caller wants the answer stored despite `no-store`.
    package var keepsAnyway: Bool
    /// Whether the caller wants the body decoded, under the policies other than `http`.
    package var decodesContent = true
    /// The fields that match whatever their value, under the policies other than `http`.
    package var credentials: SecretList?
    /// The URL asked for.
    package var url: String
    /// The rows under the key.
    package var rows: [StoredResponse]
    /// The instant of the request.
    package var now: Int64
    /// When the pause of the origin ends, in milliseconds since 1970-01-01 UTC; `nil` without a pause.
    package var pausedUntil: Int64?
    /// The time in milliseconds since its receipt within which a stored response satisfies `stored-then-fresh` alone;
    /// `nil` if the policy always delivers a fresh one too.
    package var recent: Int64?
    /// The maximum age in milliseconds for `stored-else-fresh`; `nil` if unknown.
    package var maxAge: Int64?
    /// The deadline in milliseconds for `fresh-else-stored`; `nil` if unknown.
    package var deadline: Int64?

    package init(
      key: RequestKey, method: RequestMethod, fields: HTTPFields, isRead: Bool = false,
      keepsAnyway: Bool = false,
      url: String, rows: [StoredResponse], now: Int64
    ) {
      self.key = key
      self.method = method
      self.fields = fields
      self.isRead = isRead
      self.keepsAnyway = keepsAnyway
      self.url = url
      self.rows = rows
      self.now = now
    }

    var isPassThrough: Bool {
      PassThrough.isPassThrough(method: method, fields: fields, isRead: isRead, keepsAnyway: keepsAnyway)
    }
  }

  /// The explanation of one request.
  package static func explanation(of subject: Subject, protect: Vary.Protection) -> DataService.Explanation {
    let good = Vary.select(
      from: subject.rows, requestFields: subject.fields, protect: protect, besides: subject.credentials
    ) { $0.isGood && !(subject.decodesContent && ContentCoding.isCoded($0.head)) }
    let decision = HTTPReuse.decide(
      method: subject.method, fields: subject.fields, isRead: subject.isRead, url: subject.url,
      rows: subject.rows,
      now: subject.now, protect: protect)
    let row = good ?? decision.row
    return DataService.Explanation(
      key: .init(
        account: subject.key.account, target: subject.key.target, method: subject.key.method,
        extra: subject.key.extra),
      variants: subject.rows.map { row in
        .init(
          fields: row.variant, vary: row.vary, status: row.status, isGood: row.isGood,
          isMatch: Vary.matches(
            row, requestFields: subject.fields, protect: protect, besides: subject.credentials))
      },
      terms: row.map { terms(of: $0, subject: subject) } ?? [],
      verdicts: ordinaryVerdicts(subject: subject, good: good)
        + [
          .init(
            policy: "http",
            outcome: outcome(of: decision) + otherwise(decision, subject) + ": \(decision.reason.rawValue)",
            shown: shown(decision, subject))
        ],
      pausedUntil: subject.pausedUntil.map(HTTPDate.format),
      refreshFields: refreshFields(subject: subject, row: row),
      changes: changes(subject: subject, row: row, decision: decision))
  }

  private static func refreshFields(subject: Subject, row: StoredResponse?) -> [String] {
    guard !subject.isPassThrough, let row else { return [] }
    return Validators.conditionalFields(for: row).all.map { "\($0.name): \($0.value)" }
  }

  /// What `http` delivers where the origin does not answer, if it is what is stored.
  private static func otherwise(_ decision: HTTPReuse.Decision, _ subject: Subject) -> String {
    guard [.validate, .fetch].contains(decision.action), let row = decision.row,
      HTTPStaleness.isAllowed(
        row, after: .noAnswer, directives: RequestDirectives(fields: subject.fields), now: subject.now)
    else { return "" }
    return "; if no answer comes, stored, then failure"
  }

  private static func outcome(of decision: HTTPReuse.Decision) -> String {
    switch decision.action {
    case .reuse: "stored"
    case .reuseWhileRevalidating: "stored, and a refresh into the store"
    case .validate: "fresh after a conditional request, or failure"
    case .fetch: "fresh or failure"
    case .gatewayTimeout: "failure: nothing stored may be used, a 504"
    }
  }

  private static func ordinaryVerdicts(
    subject: Subject, good: StoredResponse?
  ) -> [DataService.Explanation.PolicyVerdict] {
    let fresh =
      subject.isPassThrough ? "fresh or failure: the request bypasses the store" : "fresh or failure"
    guard !subject.isPassThrough, let good else {
      let only =
        "failure: " + (subject.isPassThrough ? "the request bypasses the store" : "nothing is stored")
      let why =
        subject.isPassThrough
        ? "such requests bypass the store"
        : subject.rows.isEmpty
          ? "nothing is stored for this request"
          : "what is stored is for other request headers, or no good response"
      return names.map { name in
        let isOnly = name == "stored-only"
        return .init(
          policy: name, outcome: isOnly ? only : fresh,
          shown: isOnly ? "nothing, since \(why)" : asked("the server's answer, since \(why)", nil, subject))
      }
    }
    let age = duration(Freshness.age(of: good, now: subject.now))
    let (stored, response) = ("stored, \(age) old", "the response stored \(age) ago")
    let inTime = subject.deadline.map { "fresh if within \(duration($0))" } ?? "fresh if in time"
    let within = subject.deadline.map { ", or none within \(duration($0))" } ?? ""
    let (then, young) = (then(good, stored, subject), young(good, stored, subject))
    return [
      .init(
        policy: names[0], outcome: then.outcome,
        shown: then.asks ? asked(response + then.shown, response, subject) : response + then.shown),
      .init(policy: names[1], outcome: stored, shown: response + "; the server is not asked"),
      .init(
        policy: names[2], outcome: fresh,
        shown: asked("the server's answer or nothing, and not \(response)", nil, subject)),
      .init(
        policy: names[3], outcome: "\(inTime); else \(stored), then failure",
        shown: asked("the server's answer, or \(response) if there is none\(within)", response, subject)),
      .init(
        policy: names[4], outcome: young.outcome,
        shown: young.asks
          ? asked("the server's answer, or \(response) if there is none\(young.shown)", response, subject)
          : response + young.shown),
    ]
  }

  /// What is shown where the server is asked; during a pause, `otherwise` or nothing.
  private static func asked(_ shown: String, _ otherwise: String?, _ subject: Subject) -> String {
    guard let until = subject.pausedUntil else { return shown }
    return (otherwise ?? "nothing")
      + ", since the server has asked not to be asked before \(HTTPDate.format(until))"
  }

  /// The outcome of `stored-then-fresh` for a stored response, the end of its sentence, and whether the server is asked.
  private static func then(
    _ good: StoredResponse, _ stored: String, _ subject: Subject
  ) -> (outcome: String, shown: String, asks: Bool) {
    if let recent = subject.recent, Freshness.isRecent(good, within: recent, now: subject.now) {
      let young = "which was received less than \(duration(recent)) ago"
      return (
        "\(stored), \(young)", "; the server is not asked, since that is less than \(duration(recent))", false
      )
    }
    return ("\(stored), then fresh or failure", ", then the server's answer if it differs", true)
  }

  /// The same of `stored-else-fresh`.
  private static func young(
    _ good: StoredResponse, _ stored: String, _ subject: Subject
  ) -> (outcome: String, shown: String, asks: Bool) {
    let otherwise = "else stored, then failure"
    guard Freshness.isYoung(good, maxAge: .max, now: subject.now) else {
      return (
        "fresh; \(otherwise) (the entry is invalid or from the future)",
        ": a change has made what is stored invalid, or the clock was set back", true
      )
    }
    guard let maxAge = subject.maxAge else {
      return ("\(stored), where that is young enough; else fresh; \(otherwise)", "", true)
    }
    let limit = duration(maxAge)
    return Freshness.isYoung(good, maxAge: maxAge, now: subject.now)
      ? ("\(stored), which is not older than \(limit)", ", since that is not more than \(limit)", false)
      : (
        "fresh, since the stored one is older than \(limit); \(otherwise)", ": that is more than \(limit)",
        true
      )
  }

  /// What `http` shows.
  private static func shown(_ decision: HTTPReuse.Decision, _ subject: Subject) -> String {
    let response = decision.row.map {
      "the response stored \(duration(Freshness.age(of: $0, now: subject.now))) ago"
    }
    switch decision.action {
    case .reuse: return "\(response ?? "the stored response"), since its lifetime or the request allows it"
    case .reuseWhileRevalidating:
      return "\(response ?? "the stored response"), since the server allows it while that is refreshed"
    case .validate:
      let isLast = !otherwise(decision, subject).isEmpty
      let end = isLast ? ", or that one if there is none" : ""
      let why = "since \(response ?? "what is stored") may not be used unasked"
      return asked("the server's answer, \(why)\(end)", isLast ? response : nil, subject)
    case .fetch: return asked("the server's answer, since nothing that is stored may be used", nil, subject)
    case .gatewayTimeout: return "nothing, since the request wants a stored response and none may be used"
    }
  }

  private static let names = [
    "stored-then-fresh", "stored-only", "fresh-only", "fresh-else-stored", "stored-else-fresh",
  ]

  /// A duration for people to read, in at most two units.
  package static func duration(_ milliseconds: Int64) -> String {
    let magnitude = milliseconds == .min ? Int64.max : abs(milliseconds)
    let sign = milliseconds < 0 ? "-" : ""
    let seconds = magnitude / 1000
    switch seconds {
    case 0: return "\(sign)\(magnitude) ms"
    case ..<60: return "\(sign)\(seconds) s"
    case ..<3600: return "\(sign)\(seconds / 60) min \(seconds % 60) s"
    case ..<86_400: return "\(sign)\(seconds / 3600) h \(seconds / 60 % 60) min"
    default: return "\(sign)\(seconds / 86_400) d \(seconds / 3600 % 24) h"
    }
  }
}

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
      terms.append(term("invalid", "it is known to have changed or gone since", "RFC 9111 section 4.4"))
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
    let names = row.vary.split(separator: ",").filter {
      subject.credentials?.isSecretField(String($0)) != true
    }
    if !names.isEmpty {
      changes.append(
        "other values of these request headers would not match: \(names.joined(separator: ","))")
    }
    if row.isImported {
      changes.append("it was imported: the next refresh is unconditional, and replaces it")
    } else if row.isLocal, !Validators.canValidate(row) {
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
