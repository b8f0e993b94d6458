extension DataService {
  /// When the origin is asked again while a live sequence is read, besides ``Live/refetch()``.
  public enum Refetch: Sendable, Hashable {
    /// This long after the last load ended and its deliveries were read; at least one second.
    case every(Duration)
    /// After a failure without a network: retries as ``Request/onlineWait`` does, 0.25 s to 5 s apart, until another
    /// answer comes. The failure is delivered once; its repetitions are not.
    case onReconnect
  }
}
