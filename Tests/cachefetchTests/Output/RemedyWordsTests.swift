import DataService
import TestTurns
import Testing

@testable import CacheStore
@testable import cachefetch

@Suite("Remedies in the command's words", .inTurn) struct RemedyWordsTests {
  static let all: [Remedy] = [
    .tryAgain, .descriptors, .freeSpace, .writableStore, .newerRelease, .otherFile, .regularFile, .nameStore,
    .ownFolder,
    .ownFile, .ownStore, .repair, .repairRemoves, .restoreKey, .checkStore,
    .removePinned(orAllow: .bytes(4 << 30)), .removePinned(orAllow: .rows(6)), .removeThem(of: "http://a/?b"),
    .largerStore(10 << 20), .smallerStore(1 << 20),
    .longerDeadline, .endPause(of: "a.example"),
    .longerConnectTimeout, .longerTimeout, .largerBody, .certificateAuthority, .asSent,
    .asStored, .clientCertificate,
  ]

  @Test func `every code has one remedy, and every remedy one code`() {
    #expect(Set(Self.all.compactMap(\.code)) == Set(Remedy.Code.allCases))
    // One of them is about bytes or about entries.
    #expect(Self.all.count == Remedy.Code.allCases.count + 1)
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
        "--no-compressed", "--offline", "--cert", "--key-file", "--bytes", "--rows", "--pause",
      ])
  }

  @Test(arguments: all) func `a command that one names is good usage as it stands`(remedy: Remedy) throws {
    for command in remedy.words.matches(of: /“cachefetch ([^”]+)”/) {
      let words = command.1.split(separator: " ").map { $0.trimmingPrefix("'") }.map {
        $0.hasSuffix("'") ? String($0.dropLast()) : String($0)
      }
      let arguments = try ArgumentParser.parse(words)
      guard arguments.verb == .rm, !arguments.has(.pause) else { continue }
      let key: (DataService.Request) throws(UsageError) -> RequestKey = { _ in RequestKey(target: "t") }
      #expect(try !RowSelection(arguments, now: 0, key: key).isAll, "\(remedy.words)")
    }
  }

  @Test(
    arguments: [(4 << 30, "4G"), (10 << 20, "10M"), (1 << 10, "1k"), (1_500, "1500")] as [(Int64, String)])
  func `a size is said as it is read`(bytes: Int64, text: String) {
    #expect(SizeText.text(bytes) == text && SizeText.parse(text) == bytes)
  }

  @Test func `a remedy of words alone is said as it is`() {
    #expect(Remedy("end its readers").words == "end its readers")
  }
}
