internal import CTestSupport

/// Bytes that differ from place to place and from seed to seed, so that a part at the wrong place shows.
///
/// C fills them: without optimisation, loops of Swift over each byte took a tenth of the time of the test process.
public func distinctBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  // An array of no capacity is the one that all empty arrays share, and its count would be written.
  guard count > 0 else { return [] }
  return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
    if let start = buffer.baseAddress { testsupport_fill(start, count, seed) }
    initialized = count
  }
}
