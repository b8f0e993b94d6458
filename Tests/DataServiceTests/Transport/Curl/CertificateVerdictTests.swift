import CacheStore
import Testing
import TestTurns

@testable import DataService

@Suite("What OpenSSL's verdicts mean", .inTurn) struct CertificateVerdictTests {
  static let clock: Remedy = "check this machine's clock; if it is right, the server has to be put in order"
  static let interference: Remedy =
    "the address may be wrong, or something between here and the server interferes"
  static let verdicts: [(results: ClosedRange<Int>, reason: String, says: String, remedy: Remedy)] = [
    (2...8, "untrusted", "trusted authority", .certificateAuthority),
    (9...9, "notYetValid", "not valid yet", clock),
    (10...10, "expired", "has expired", clock),
    (11...17, "untrusted", "trusted authority", .certificateAuthority),
    (18...19, "selfSigned", "by itself", .certificateAuthority),
    (20...22, "untrusted", "trusted authority", .certificateAuthority),
    (23...23, "revoked", "revoked", interference),
    (24...61, "untrusted", "trusted authority", .certificateAuthority),
    (62...64, "wrongHost", "another host's", interference),
    (65...99, "untrusted", "trusted authority", .certificateAuthority),
  ]

  @Test("Each has a word, a message and a remedy") func verdict() throws {
    #expect(CertificateVerdict(0) == nil && CertificateVerdict(1) == nil)
    for (results, reason, says, remedy) in Self.verdicts {
      for result in results {
        let verdict = try #require(CertificateVerdict(result), "\(result)")
        #expect(verdict.reason == reason, "\(result)")
        #expect(verdict.message.contains(says) && verdict.message.contains("%@"), "\(result)")
        #expect(verdict.remedy == remedy, "\(result)")
      }
    }
    #expect(CertificateVerdict(-1)?.reason == "untrusted")
  }
}
