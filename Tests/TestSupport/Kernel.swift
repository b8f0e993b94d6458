internal import CTestSupport

/// What the kernel under the tests can do.
public enum Kernel {
  /// Whether it restricts what threads may do with files (Landlock).
  public static var hasLandlock: Bool { testsupport_landlock_version() > 0 }
}
