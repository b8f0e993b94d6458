/// The instant an exchange began, on a clock that nobody can set: nanoseconds since boot, and which boot.
///
/// Within one boot a later mark never loses to an earlier one; marks of two boots do not compare, and the
/// one being written wins (law 8).
public struct StartMark: Hashable, Sendable {
  /// The boot's identifier.
  public var boot: String
  /// Nanoseconds since that boot, suspended time included.
  public var nanoseconds: Int64

  /// The mark of what no exchange of this machine brought: it is before every exchange, and loses to none that is under
  /// way.
  public static let imported = StartMark(boot: "import", nanoseconds: 0)

  /// Makes a mark.
  public init(boot: String, nanoseconds: Int64) {
    self.boot = boot
    self.nanoseconds = nanoseconds
  }
}
