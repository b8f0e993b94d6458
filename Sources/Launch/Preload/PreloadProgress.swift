/// How far a launch has come: for a progress bar, and the line below it.
public struct PreloadProgress: Sendable, Hashable {
  /// From 0 to 1, never less than before; `nil` while nothing is known, for an indeterminate bar.
  public let fraction: Double?
  /// Bytes received so far, decoded.
  public let receivedBytes: Int64
  /// Bytes expected in all, where every step's length is known.
  public let expectedBytes: Int64?
  /// The step that was started last and is still under way.
  public let currentStep: String?
  /// How many steps there are.
  public let stepCount: Int
  /// How many have a stored response and no fresh one yet.
  public let stored: Int
  /// How many have a fresh response, or a stored one young enough.
  public let fresh: Int
  /// How many have failed.
  public let failed: Int
}
