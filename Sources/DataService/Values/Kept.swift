internal import CacheStore

extension DataService {
  /// Whether a response is in the store.
  public enum Kept: Sendable, Hashable {
    /// Committed.
    case yes
    /// Not committed, and why.
    case no(KeptReason)
  }

  /// Why a response is not in the store. An open set.
  public struct KeptReason: Sendable, Hashable {
    /// The name used in JSON output, such as `noStore`.
    public let name: String
    package init(_ name: String) { self.name = name }

    /// `no-store` on the request, the response or a redirect.
    public static let noStore = Self("noStore")
    /// The store was locked, or did not answer within 250 ms; then the response may still be stored later.
    public static let busy = Self("busy")
    /// The disk or the store is full.
    public static let full = Self("full")
    /// The store may not be written.
    public static let readOnly = Self("readOnly")
    /// The store is damaged.
    public static let corrupt = Self("corrupt")
    /// The store cannot be used.
    public static let unusable = Self("unusable")
    /// Responses of this status are not kept.
    public static let status = Self("status")
    /// The method is not one whose answers are stored.
    public static let method = Self("method")
    /// The request bypassed the store.
    public static let passThrough = Self("passThrough")
    /// A newer answer is stored already.
    public static let superseded = Self("superseded")
    /// Larger than half the store's limit.
    public static let tooLarge = Self("tooLarge")
    /// Reached through a temporary redirect to another host, as captive portals do.
    public static let portal = Self("portal?")
    /// It has none of the media types that the request accepts.
    public static let mediaType = Self("mediaType")
    /// A decoder refused it.
    public static let undecodable = Self("undecodable")
    /// The account was signed out.
    public static let signedOut = Self("signedOut")
    /// `Vary: *`, which no later request could match.
    public static let vary = Self("vary")
    /// The `http` policy may not store it (RFC 9111 section 3).
    public static let notStorable = Self("notStorable")
  }
}

extension DataService.KeptReason: CustomStringConvertible {
  /// The name.
  public var description: String { name }
}

extension DataService.KeptReason {
  /// Whether the store failed, in contrast to a rule that forbids storing the response.
  package var isOfStore: Bool { [.busy, .full, .readOnly, .corrupt, .unusable].contains(self) }

  /// The reason why a response is not stored, for an error of the store.
  init(_ error: CacheStoreError) {
    switch error.reason {
    case .busy: self = .busy
    case .full: self = .full
    case .readOnly: self = .readOnly
    case .corrupt: self = .corrupt
    case .signedOut: self = .signedOut
    default: self = .unusable
    }
  }
}

extension DataService {
  /// How a fresh body compares with the stored one.
  public enum Change: String, Sendable, Hashable {
    /// Nothing was stored.
    case new
    /// It differs.
    case changed
    /// It is the same by the request's ``ChangeRule``.
    case unchanged
  }
}

/// When a fresh body counts as unchanged.
public enum ChangeRule: Sendable, Hashable {
  /// Only when the origin said 304.
  case notModified
  /// When the origin said 304 or the bytes are the same.
  case bytes
  /// When, read as JSON, they differ at most below these JSON Pointers (RFC 6901). Text that is no JSON Pointer is
  /// ignored.
  ///
  /// The bytes decide where either body is not JSON, is nested deeper than 512 levels or has more than 4,194,304
  /// values, and in a load also where a body in the store is longer than one chunk, 256 KiB.
  case json(ignoring: [String])
}
