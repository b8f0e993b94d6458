import Testing
import TestTurns

@testable import cachefetch

@Suite("Command line: table of options", .inTurn) struct OptionTableTests {
  @Test func `every option is in the table once`() {
    #expect(Set(Option.table.map(\.name)) == Set(OptionName.allCases))
    #expect(Option.table.count == OptionName.allCases.count)
    let letters = Option.table.compactMap(\.short)
    #expect(Set(letters).count == letters.count)
  }

  @Test func `every option is explained in one line and applies to a verb`() {
    for option in Option.table {
      for part in option.helpByVerbs {
        #expect(
          !part.text.isEmpty && !part.text.contains("\n") && part.text.count <= 130, "\(option.spelling)")
      }
      #expect(!option.verbs.isEmpty, "\(option.spelling)")
      #expect((option.value == nil) == option.placeholder.isEmpty, "\(option.spelling)")
    }
  }

  @Test func `each verb that an option applies to has one of its texts, and each text is there once`() {
    for option in Option.table {
      var placed: VerbSet = []
      for part in option.helpByVerbs {
        #expect(placed.isDisjoint(with: part.verbs), "\(option.spelling)")
        placed.formUnion(part.verbs)
        for verb in Verb.allCases where part.verbs.contains(VerbSet(verb)) {
          #expect(option.help(for: verb) == part.text, "\(option.spelling), \(verb)")
        }
      }
      #expect(placed == option.verbs, "\(option.spelling)")
      let texts = option.helpByVerbs.map { $0.text }
      #expect(Set(texts).count == texts.count, "\(option.spelling)")
    }
  }
}
