import PlatformC

/// Reproducible random numbers: SplitMix64, with a seed that the test prints.
///
/// `TEST_SEED=N` in the environment repeats a run.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  /// The seed, for the message of a failing expectation.
  public let seed: UInt64
  private var state: UInt64

  /// Makes a generator with a given seed, else that of the environment, else a new one. A seed that was not given is
  /// printed.
  public init(seed: UInt64? = nil, for name: String = #function) {
    let wished = getenv("TEST_SEED").flatMap { UInt64(String(cString: $0)) }
    self.seed = seed ?? wished ?? UInt64.random(in: 0...UInt64.max)
    state = self.seed
    if seed == nil { print("\(name): TEST_SEED=\(self.seed)") }
  }

  /// The next 64 bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// `count` random bytes.
  public mutating func bytes(_ count: Int) -> [UInt8] {
    distinctBytes(count, seed: next())
  }
}
