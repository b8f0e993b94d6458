/// Which answers a load wants: the stored one, the fresh one, or both, and in what case.
public struct FetchPolicy: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case storedThenFresh
    case storedOnly
    case freshOnly
    case freshElseStored(within: Duration?)
    case storedElseFresh(maxAge: Duration)
    case http
  }
  let kind: Kind

  /// The stored response at once, then the fresh one or a failure.
  public static let storedThenFresh = FetchPolicy(kind: .storedThenFresh)
  /// The stored response whatever its age, without the network; `notStored` where there is none.
  public static let storedOnly = FetchPolicy(kind: .storedOnly)
  /// The fresh response or a failure; the stored one only as a failure's last known.
  public static let freshOnly = FetchPolicy(kind: .freshOnly)
  /// One delivery exactly as RFC 9111 and RFC 5861 allow a private cache.
  public static let http = FetchPolicy(kind: .http)
  /// The fresh response if it comes before the deadline; else the stored one, then the failure.
  /// Without a deadline only the load's own limits end the wait.
  public static func freshElseStored(within deadline: Duration? = nil) -> FetchPolicy {
    FetchPolicy(kind: .freshElseStored(within: deadline))
  }
  /// The stored response where it is not older than `maxAge`, and then nothing more; else the fresh one;
  /// else the stored one, then the failure.
  public static func storedElseFresh(maxAge: Duration) -> FetchPolicy {
    FetchPolicy(kind: .storedElseFresh(maxAge: maxAge))
  }

  /// Whether the origin is asked whatever is stored.
  var asksAlways: Bool {
    switch kind {
    case .storedThenFresh, .freshOnly, .freshElseStored: true
    case .storedOnly, .storedElseFresh, .http: false
    }
  }

  /// Whether a failure may be answered with the stored response.
  var fallsBack: Bool { kind != .freshOnly && kind != .http }
}
