extension DataService {
  /// How many exchanges are under way at a time; a number below 1 counts as 1. What waits for its turn begins in order of
  /// arrival, host after host, anticipated loads last.
  public struct ExchangeLimits: Sendable, Hashable {
    /// With a host.
    public var perHost = 6
    /// With a host that is known to speak HTTP/2, over one connection.
    public var perHTTP2Host = 50
    /// In all.
    public var inAll = 50
    /// The defaults.
    public init() {}
  }
}
