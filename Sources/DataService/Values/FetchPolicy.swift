/// Which answers a load wants: the stored one, the fresh one, or both, and in what case.
public struct FetchPolicy: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    /// `ifOlderThan`: the age from which the fresh one is wanted; `nil` wants it always.
    case storedThenFresh(ifOlderThan: Duration?)
    case storedOnly
    case freshOnly
    /// `endsAnyway`: whether the deadline ends the load where nothing is stored, too.
    case freshElseStored(within: Duration?, endsAnyway: Bool)
    case storedElseFresh(maxAge: Duration, within: Duration?)
    case http

    /// Whether the deadline ends the load where nothing is stored, too.
    var endsAnyway: Bool {
      switch self {
      case .freshElseStored(_, let endsAnyway): endsAnyway
      case .storedElseFresh(_, within: .some): true
      default: false
      }
    }

    /// How long the fresh response is waited for before a stored one stands in.
    var deadline: Duration? {
      switch self {
      case .freshElseStored(let deadline, _), .storedElseFresh(_, let deadline): deadline
      default: nil
      }
    }
  }
  let kind: Kind
  /// Whether the stored response has been delivered before, so that the answer alone is wanted.
  private(set) var isAgain = false

  /// The stored response at once, then the fresh one or a failure.
  public static let storedThenFresh = FetchPolicy(kind: .storedThenFresh(ifOlderThan: nil))
  /// The stored response at once. If it was received, or last validated, less than `age` ago, that is all, and the
  /// origin is not asked; otherwise the fresh one or a failure follows. For screens that are opened again and again.
  ///
  /// The age is that of ``DataService/Response/receivedAt`` by this device's clock, in milliseconds; what the response
  /// itself says (`Age`, `Cache-Control`) does not matter. A response that was invalidated, or whose time of receipt is
  /// more than a minute ahead, counts as old at any age. `.zero` always asks.
  public static func storedThenFresh(ifOlderThan age: Duration) -> FetchPolicy {
    FetchPolicy(kind: .storedThenFresh(ifOlderThan: age))
  }
  /// The stored response whatever its age, without the network; `notStored` where there is none.
  public static let storedOnly = FetchPolicy(kind: .storedOnly)
  /// The fresh response or a failure; the stored one only as a failure's last known.
  public static let freshOnly = FetchPolicy(kind: .freshOnly)
  /// One delivery exactly as RFC 9111 and RFC 5861 allow a private cache. A stored response that stands in for an
  /// answer that failed is followed by the failure.
  public static let http = FetchPolicy(kind: .http)
  /// The fresh response if it comes within three seconds; else the stored one, then the failure. Where nothing is
  /// stored there is nothing to fall back on, and only the load's own limits end the wait.
  public static func freshElseStored() -> FetchPolicy {
    FetchPolicy(kind: .freshElseStored(within: .seconds(3), endsAnyway: false))
  }
  /// The fresh response if it comes before the deadline; else the stored one, then the failure. The deadline ends the
  /// wait whether or not anything is stored; where it is `nil`, only the load's own limits do.
  public static func freshElseStored(within deadline: Duration?) -> FetchPolicy {
    FetchPolicy(kind: .freshElseStored(within: deadline, endsAnyway: true))
  }
  /// The stored response if it is not older than `maxAge`, and then nothing more; else the fresh one if it comes before
  /// the deadline, which is counted from the beginning of the load; else the stored one, then the failure. With a deadline
  /// the load ends by then whether or not anything is stored.
  ///
  /// The age is that of RFC 9111 (``DataService/Response/age``), so what the response itself says (`Age`, `Date`)
  /// counts, unlike in ``storedThenFresh(ifOlderThan:)``. A response that was invalidated, or whose time of receipt is
  /// more than a minute ahead, counts as older.
  public static func storedElseFresh(maxAge: Duration, within deadline: Duration? = nil) -> FetchPolicy {
    FetchPolicy(kind: .storedElseFresh(maxAge: maxAge, within: deadline))
  }

  /// For a load that follows one of this policy: what is stored has been delivered, and the answer is judged as the
  /// first one was, so that an error page is a failure while something is stored. `freshOnly` and `http` stay what they
  /// are; under `http` RFC 9111 decides whether the origin is asked.
  ///
  /// - Parameter age: From which age of what is stored the answer is wanted, and then from any exchange under way; `nil`
  ///   wants it always, from an exchange that begins after the load.
  public func again(ifOlderThan age: Duration?) -> FetchPolicy {
    guard kind != .freshOnly, kind != .http else { return self }
    var policy = FetchPolicy(kind: .storedThenFresh(ifOlderThan: age))
    policy.isAgain = true
    return policy
  }

  /// Whether the origin is asked whatever is stored.
  var asksAlways: Bool {
    switch kind {
    case .storedThenFresh(nil), .freshOnly, .freshElseStored: true
    case .storedThenFresh, .storedOnly, .storedElseFresh, .http: false
    }
  }

  /// Whether a failure is answered with the stored response, however old, before it is delivered: not under
  /// `freshOnly`, nor under `http`, which has rules of its own.
  public var fallsBack: Bool { kind != .freshOnly && kind != .http }

  /// Whether what is stored is delivered only with a failure.
  var skipsStored: Bool { kind == .freshOnly || isAgain }

  /// Whether the answer may come from an exchange that began before the load.
  var mayFollow: Bool { !(skipsStored && asksAlways) }

  /// Whether what is stored is delivered at once, whatever follows.
  public var showsStoredFirst: Bool {
    if case .storedThenFresh = kind { !isAgain } else { false }
  }

  /// How long after its beginning the load ends without an answer; `nil` where only its own limits end it.
  ///
  /// - Parameter isStored: Whether something usable is stored.
  public func deadline(isStored: Bool) -> Duration? { isStored || kind.endsAnyway ? kind.deadline : nil }
}

extension FetchPolicy: CustomStringConvertible {
  /// As a program writes it: `storedThenFresh(ifOlderThan: 60.0 seconds)`; one of ``again(ifOlderThan:)`` as
  /// `again(ifOlderThan: 60.0 seconds)`.
  public var description: String {
    switch kind {
    case .storedThenFresh(let age) where isAgain: "again(ifOlderThan: \(age.map { "\($0)" } ?? "nil"))"
    case .storedThenFresh(nil): "storedThenFresh"
    case .storedThenFresh(let age?): "storedThenFresh(ifOlderThan: \(age))"
    case .storedOnly: "storedOnly"
    case .freshOnly: "freshOnly"
    case .freshElseStored(_, endsAnyway: false): "freshElseStored()"
    case .freshElseStored(let deadline, endsAnyway: true):
      "freshElseStored(within: \(deadline.map { "\($0)" } ?? "nil"))"
    case .storedElseFresh(let maxAge, nil): "storedElseFresh(maxAge: \(maxAge))"
    case .storedElseFresh(let maxAge, let deadline?):
      "storedElseFresh(maxAge: \(maxAge), within: \(deadline))"
    case .http: "http"
    }
  }
}

extension DataService {
  /// When the origin is asked again while a live sequence is read, besides ``Live/refetch()``.
  public enum Refetch: Sendable, Hashable {
    /// This long after the last load ended and its deliveries were read, or after others stored what the origin
    /// answered to them; at least one second. So sequences of one request share an exchange, in however many processes.
    case every(Duration)
    /// After a failure without a network: retries as ``Request/onlineWait`` does, at most 0.25 s to 5 s apart, until
    /// another answer comes. The failure is delivered once; its repetitions are not.
    case onReconnect
  }
}
