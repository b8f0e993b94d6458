internal import CTestSupport

/// Bytes that differ from place to place and from seed to seed, so that a part at the wrong place shows.
///
/// C fills them: in a build without optimisation Swift takes a hundred times as long for a loop over each byte, and the
/// suite makes hundreds of megabytes.
public func distinctBytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
    if let start = buffer.baseAddress { testsupport_fill(start, count, seed) }
    initialized = count
  }
}
