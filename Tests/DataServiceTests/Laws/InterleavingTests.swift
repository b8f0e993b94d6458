import Dispatch
import Interleavings
import TestSupport
import Testing
import TestTurns

/// `scripts/check` plays many more, with an optimised build.
@Suite("Interleavings", .inTurn) struct InterleavingTests {
  @Test func `no interleaving of loads, cancels, removals and sign-outs breaks a law`() async throws {
    let count = UInt64(wished("CACHEFETCH_INTERLEAVINGS", else: 2_000))
    // A play blocks its thread.
    let findings = try await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(returning: Result { try Interleavings.play(1..<(count + 1)) })
      }
    }.get()
    #expect(findings.isEmpty, "\(findings.map(Interleavings.describe))")
  }
}
