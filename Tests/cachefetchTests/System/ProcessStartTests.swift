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

  /// `CProcess` stands in for the runtime's function behind `CommandLine`.
  @Test func `Swift's own command line has the same words`() {
    let words = (0..<ProcessStart.argumentCount).compactMap(ProcessStart.argument)
    #expect(CommandLine.arguments == words.map { String(cString: $0) })
  }
}
