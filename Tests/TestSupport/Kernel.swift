internal import CTestSupport

/// The features of the kernel that the tests run on.
public enum Kernel {
  /// Whether it has Landlock, which restricts a thread's file accesses.
  public static var hasLandlock: Bool { testsupport_landlock_version() > 0 }
}
