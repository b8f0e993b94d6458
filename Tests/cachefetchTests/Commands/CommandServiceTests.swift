import DataService
import TestTurns
import Testing

@testable import cachefetch

@Suite("The service as the command uses it", .inTurn) struct CommandServiceTests {
  @Test func `a wait that a server asks for is told where it is long`() {
    #expect(
      DataService.longWait("http://a.test/", .seconds(20), status: 503)
        == "http://a.test/: answered 503 and asks to wait (Retry-After): asking again in 20.0 s")
    #expect(DataService.longWait("http://a.test/", .seconds(5), status: 429) != nil)
    #expect(DataService.longWait("http://a.test/", .milliseconds(4_999), status: 503) == nil)
  }
}
