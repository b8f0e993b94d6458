import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: verbs", .inTurn) struct VerbTests {
  @Test func `each verb has a place of its own in a set`() {
    var all: VerbSet = []
    for verb in Verb.allCases {
      #expect(VerbSet(verb).rawValue.nonzeroBitCount == 1 && all.isDisjoint(with: VerbSet(verb)), "\(verb)")
      all.insert(VerbSet(verb))
    }
    #expect(all == .all)
    #expect(VerbSet.storing == all.subtracting(.help))
  }

  @Test(
    "A verb takes from its least number of operands to its most",
    arguments: [
      (.get, 1, nil), (.watch, 1, nil), (.preload, 1, nil), (.completions, 1, nil), (.diff, 1, 1),
      (.explain, 1, 1),
      (.export, 1, 1), (.import, 1, 1), (.show, 0, 1), (.rm, 0, nil), (.unmark, 0, nil),
      (.list, 0, 0), (.signOut, 0, 0),
      (.stats, 0, 0), (.limits, 0, 0), (.doctor, 0, 0), (.help, 0, 1),
    ] as [(Verb, Int, Int?)])
  func operands(verb: Verb, least: Int, most: Int?) {
    func isTaken(_ count: Int) -> Bool {
      let operands = [String](repeating: "http://a/", count: count)
      return (try? ArgumentParser.parse([verb.rawValue] + operands)) != nil
    }
    #expect(isTaken(least) && isTaken(most ?? 9), "\(verb)")
    #expect(least == 0 || !isTaken(least - 1), "\(verb)")
    if let most { #expect(!isTaken(most + 1), "\(verb)") }
  }
}
