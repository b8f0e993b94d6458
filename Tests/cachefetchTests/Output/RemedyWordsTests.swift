import TestTurns
import Testing

@testable import CacheStore
@testable import cachefetch

@Suite("Remedies in the command's words", .inTurn) struct RemedyWordsTests {
  static let all: [Remedy] = [
    .tryAgain, .descriptors, .freeSpace, .writableStore, .newerRelease, .otherFile, .regularFile, .nameStore,
    .ownFolder,
    .ownFile, .ownStore, .repair, .repairRemoves, .restoreKey, .checkStore, .removePinned, .removeOne,
    .longerDeadline,
    .longerConnectTimeout, .longerTimeout, .largerBody, .certificateAuthority, .noContentCoding,
    .clientCertificate,
  ]

  @Test func `every code has one remedy, and every remedy one code`() {
    #expect(Set(Self.all.compactMap(\.code)) == Set(Remedy.Code.allCases))
    #expect(Self.all.count == Remedy.Code.allCases.count)
  }

  @Test("each option that it names is one of the command's", arguments: all)
  func options(remedy: Remedy) {
    for named in remedy.words.matches(of: /--[a-z-]+/) {
      #expect(Option.table.contains { "--\($0.name.rawValue)" == named.output }, "\(remedy.words)")
    }
  }

  @Test func `a remedy of words alone is said as it is`() {
    #expect(Remedy("end its readers").words == "end its readers")
  }
}
