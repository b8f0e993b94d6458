public import PlatformFoundation

/// Selects the rows to list or remove: those that satisfy every condition that is set.
public struct EntrySelection: Sendable, Hashable {
  /// The accounts by name; `nil` for all, the empty name for requests without credentials.
  public var accounts: [String]?
  /// The key, with all its variants; its account must match as well as ``accounts``.
  package var key: RequestKey?
  /// The beginning of the target, such as `https://example.org/news/`.
  public var prefix: String?
  /// The target's host, with `:port` where it is not the scheme's own.
  public var host: String?
  /// Whether ``host`` includes all its ports.
  package var isAnyPort = false
  /// A tag the row must have.
  public var tag: String?
  /// The rows by identifier, which may be another row's once its own has gone.
  package var rowIDs: [Int64]?
  /// The targets, any of which a row may have.
  package var targets: [String]?
  /// Only rows whose response arrived before that instant.
  public var receivedBefore: Date? {
    get { receivedBeforeMilliseconds.map(Date.init(milliseconds:)) }
    set {
      receivedBeforeMilliseconds = newValue.map {
        Int64(max(-9e18, min(9e18, ($0.timeIntervalSince1970 * 1000).rounded())))
      }
    }
  }
  /// The same, in milliseconds since 1970-01-01 UTC.
  package var receivedBeforeMilliseconds: Int64?
  /// Only rows whose body is at least that long, in bytes.
  public var minimumBytes: Int64?
  /// Only pinned rows, or only unpinned ones.
  public var isPinned: Bool?
  /// Only good responses, or only others.
  package var isGood: Bool?

  /// Whether it selects cut-off downloads too, which have an account, a key, a target and an instant, and nothing else
  /// of a row.
  var selectsCutOff: Bool {
    tag == nil && rowIDs == nil && targets == nil && minimumBytes == nil && isPinned == nil && isGood == nil
  }

  /// Every row.
  public static let all = EntrySelection()

  /// Selects every row until conditions are set.
  public init() {}
}
