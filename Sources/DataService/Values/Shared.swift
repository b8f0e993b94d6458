// What users see of an upstream, which they call the fleet's second tier.

extension DataService {
  /// Where a response came from.
  public enum Source: String, Sendable, Hashable {
    /// From the store.
    case stored
    /// From the fleet's second tier: a stored response of another machine, where nothing usable was in the store.
    case tier
    /// From the origin just now, including a response that a 304 has confirmed.
    case fresh

    init(isStored: Bool, isFromElsewhere: Bool) {
      self = isFromElsewhere ? .tier : isStored ? .stored : .fresh
    }

    /// Whether it is another machine's.
    package var isElsewhere: Bool { self == .tier }
  }

  /// Whether a fresh response goes to the fleet's second tier.
  package enum Shared: Sendable, Hashable {
    /// It is offered to the tier. The delivery does not wait for that.
    case yes
    /// It stays on this machine, and why.
    case no(UnsharedReason)

    /// What an explanation says.
    static func text(isShared: Bool, _ reason: String?) -> String {
      isShared ? "shared: other machines have it from the tier" : "not shared: \(reason ?? "")"
    }
  }

  /// Why a response is not shared with the fleet. An open set.
  package struct UnsharedReason: Sendable, Hashable {
    /// The name used in JSON output, such as `private`.
    package let name: String
    /// The reason as a sentence without its end, for people.
    package let text: String

    package init(_ name: String, _ text: String) {
      self.name = name
      self.text = text
    }

    /// Equal if the names are.
    package static func == (first: Self, second: Self) -> Bool { first.name == second.name }
    /// Hashes the name.
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
  }
}

extension DataService.UnsharedReason {
  // Of the request.

  /// The method is not one whose answers are shared.
  package static let method = Self(
    "method", "only answers to GET, and to requests marked as reads, are shared")
  /// The request bypasses the store.
  package static let passThrough = Self("passThrough", "the request bypasses the store")
  /// The caller keeps an answer that says `no-store`.
  package static let keepsAnyway = Self("keepsAnyway", "the answer is kept although that may be forbidden")
  /// The account is not one that is shared by name.
  package static let account = Self("account", "its account is not shared")
  /// The request carries a cookie.
  package static let cookie = Self("cookie", "the request carries a cookie")
  /// The URL contains a secret.
  package static let secretURL = Self("secretURL", "the URL contains a secret")
  /// Options of this machine decide who answers.
  package static let connection = Self(
    "connection", "an authority, a certificate, a proxy or an address of this machine decides who answers")
  /// An answer came, or would come, over plain http.
  package static let plainHTTP = Self("plainHTTP", "answers over plain http are not shared")
  /// The policy asks the origin alone.
  package static let policy = Self("policy", "the policy asks the origin alone")

  // Of the response.

  /// `no-store` on the request, the response or a redirect.
  package static let noStore = Self("noStore", "no-store forbids it (RFC 9111 section 5.2.2.5)")
  /// `private`, of the whole response or of fields.
  package static let isPrivate = Self("private", "the response is private (RFC 9111 section 5.2.2.7)")
  /// `must-understand` on a status that is not understood.
  package static let mustUnderstand = Self(
    "mustUnderstand", "its status is not understood (RFC 9111 section 5.2.2.3)")
  /// `Vary: *`, or `Vary` that names a secret field.
  package static let vary = Self("vary", "Vary is * or names a secret field (RFC 9111 section 4.1)")
  /// A request with credentials whose response does not allow a shared cache.
  package static let authorization = Self(
    "authorization",
    "the request has credentials, and the response says none of public, s-maxage and must-revalidate"
      + " (RFC 9111 section 3.5)")
  /// `Set-Cookie` without `public` or `s-maxage`.
  package static let setCookie = Self(
    "setCookie", "the response sets a cookie and says neither package nor s-maxage (RFC 9111 section 7.3)")
  /// The status is not that of a good response.
  package static let status = Self("status", "only good responses are shared")
  /// A shared cache may not store it.
  package static let notStorable = Self(
    "notStorable", "nothing in the response allows a shared cache to store it (RFC 9111 section 3)")
  /// A temporary redirect led to another host over plain http, as captive portals do.
  package static let portal = Self("portal?", "a temporary redirect led to another host over plain http")
  /// The body is longer than the tier's limit.
  package static let tooLarge = Self("tooLarge", "the body is longer than the tier takes")
  /// An origin has not sent it: it was imported, or the program stored it.
  package static let local = Self("local", "no origin has sent it to this machine")

  // Of the moment.

  /// The response is not in the local store.
  package static let notKept = Self("notKept", "the response is not in the store")
  /// The tier may only be read.
  package static let readOnly = Self("readOnly", "the tier may only be read")
  /// The tier did not answer.
  package static let silent = Self("silent", "the tier did not answer")
  /// Another process made the exchange.
  package static let followed = Self("followed", "another process made the exchange")
}

extension DataService.KeptReason {
  /// It is in the fleet's second tier, and the store has not taken it.
  package static let inTier = Self("inTier")
  package static var elsewhere: Self { inTier }
}

extension DataService.Event.Kind {
  /// The exchange ended with an upstream's row.
  static var answeredUpstream: Self { .answeredByTier }
}
