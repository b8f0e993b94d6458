import DataService
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: names of secrets", .inTurn) struct ShownTests {
  /// The names are of this test alone: what is learned stays for the process.
  @Test func `fields alone are learned, and so are parameters, however they are written`() {
    Shown.learn(fields: ["X-Shown-Test-One"], parameters: [])
    #expect(Shown.secrets.fields.contains("x-shown-test-one"))
    #expect(Shown.url("http://a/?shown-test-two=x") == "http://a/?shown-test-two=x")
    Shown.learn(fields: [], parameters: ["Shown-Test-Two"])
    #expect(Shown.url("http://a/?shown-test-two=x") == "http://a/?shown-test-two=~")
  }
}
