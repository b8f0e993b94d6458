import DataService
import Testing
import TestTurns

@Suite("Limits", .inTurn) struct LimitsTests {
  /// Programs are written for these; a change of one is a change of what they get.
  @Test func `what nobody has changed is as it was`() {
    let limits = Limits()
    #expect(limits.bodyBytes == 268_435_456 && limits.dataBytes == 33_554_432)
    #expect(limits.fieldSectionBytes == 262_144 && limits.fieldCount == 1_000)
    #expect(limits.redirects == 10 && limits.retries == 2)
    #expect(limits.connectTimeout == .seconds(5) && limits.firstByteTimeout == .seconds(30))
    #expect(limits.idleTimeout == .seconds(30) && limits.totalTimeout == .seconds(600))
  }
}
