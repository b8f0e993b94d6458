import DataService
import TestTurns
import Testing

@Suite("A configuration", .inTurn) struct ConfigurationTests {
  @Test func `what nobody has changed is as the documentation says`() {
    let configuration = DataService.Configuration()
    #expect(configuration.finishesAfterDeadline)
    #expect(configuration.tier == nil)
    #expect(configuration.onWarning == nil && configuration.onEvent == nil)
    // docs/launch.md
    #expect(configuration.anticipation.count == 4)
    #expect(configuration.anticipation.bytes == 2 * 1_048_576)
  }
}
