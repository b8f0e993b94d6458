/// How large a store may become and how old what is in it: what is set in the store itself, so that every process on it
/// obeys the same, or what holds in the end.
public struct StoreLimits: Sendable, Hashable {
  /// The size of the file above which the least recently used rows go; a body over half of it is not kept.
  public var maximumBytes: Int64?
  /// The number of rows above which the least recently used go.
  public var maximumRows: Int?
  /// How long ago a response may have been received; what is older goes with the housekeeping.
  public var maximumAge: Duration?

  /// Limits; `nil` sets none.
  public init(maximumBytes: Int64? = nil, maximumRows: Int? = nil, maximumAge: Duration? = nil) {
    self.maximumBytes = maximumBytes
    self.maximumRows = maximumRows
    self.maximumAge = maximumAge
  }

  /// What a program brings along, where the store sets nothing.
  init(_ configuration: StoreConfiguration) {
    self.init(
      maximumBytes: configuration.maximumBytes, maximumRows: configuration.maximumRows,
      maximumAge: configuration.maximumAge)
  }

  /// These where they are set, else the others.
  func over(_ others: StoreLimits) -> StoreLimits {
    StoreLimits(
      maximumBytes: maximumBytes ?? others.maximumBytes, maximumRows: maximumRows ?? others.maximumRows,
      maximumAge: maximumAge ?? others.maximumAge)
  }
}
