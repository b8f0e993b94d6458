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
    .asStored, .clientCertificate,
  ]

  @Test func `every code has one remedy, and every remedy one code`() {
    #expect(Set(Self.all.compactMap(\.code)) == Set(Remedy.Code.allCases))
    #expect(Self.all.count == Remedy.Code.allCases.count)
  }

  @Test func `each option that one names is one of the command's`() {
    var named: Set<String> = []
    for remedy in Self.all {
      for option in remedy.words.matches(of: /--[a-z-]+/) {
        #expect(Option.table.contains { "--\($0.name.rawValue)" == option.output }, "\(remedy.words)")
        named.insert(String(option.output))
      }
    }
    #expect(
      named == [
        "--store", "--repair", "--deadline", "--connect-timeout", "--timeout", "--max-body", "--cacert",
        "--no-compressed", "--offline", "--cert", "--key-file",
      ])
  }

  @Test func `a remedy of words alone is said as it is`() {
    #expect(Remedy("end its readers").words == "end its readers")
  }
}
