import PlatformC

/// The number an environment variable asks for, where a test can be run for longer than usual; `scripts/check long` asks for
/// the full ones.
public func wished(_ name: String, else usual: Int) -> Int {
  getenv(name).flatMap { Int(String(cString: $0)) } ?? usual
}
