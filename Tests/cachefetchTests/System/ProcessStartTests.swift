import Testing
import TestTurns

@testable import cachefetch

@Suite("System: what a process is started with", .inTurn) struct ProcessStartTests {
  @Test func `of libraries that are linked in there is a text, or none is spoken of`() {
    #expect(ProcessStart.linkedLibraries != "")
  }

  @Test func `the command line ends after its last word`() {
    #expect(ProcessStart.argumentCount >= 1 && !ProcessStart.isBackground)
    let isLastThere = ProcessStart.argument(ProcessStart.argumentCount - 1) != nil
    let isNextThere = ProcessStart.argument(ProcessStart.argumentCount) != nil
    #expect(isLastThere && !isNextThere)
  }
}
