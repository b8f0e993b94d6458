import CacheStore
import Testing
import TestTurns

@testable import DataService

@Suite("Which exchanges a selection of rows concerns", .inTurn) struct SelectedExchangesTests {
  private static let key = RequestKey(account: "alice", target: "https://a.test:8080/news/1")

  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let isSelected: Bool
    let change: @Sendable (inout EntrySelection) -> Void
    var testDescription: String { name }
  }

  private static let cases: [Case] = [
    Case(name: "all", isSelected: true) { _ in },
    Case(name: "its account", isSelected: true) { $0.accounts = ["", "alice"] },
    Case(name: "another account", isSelected: false) { $0.accounts = [""] },
    Case(name: "its key", isSelected: true) { $0.key = key },
    Case(name: "another account's key", isSelected: false) { $0.key = RequestKey(target: key.target) },
    Case(name: "its prefix", isSelected: true) { $0.prefix = "https://a.test:8080/news/" },
    Case(name: "another prefix", isSelected: false) { $0.prefix = "https://a.test:8080/news/2" },
    Case(name: "its host", isSelected: true) { $0.host = "a.test:8080" },
    Case(name: "the host with its usual port", isSelected: false) { $0.host = "a.test" },
    Case(name: "the host with any port", isSelected: true) {
      $0.host = "a.test"
      $0.isAnyPort = true
    },
    Case(name: "a host that begins alike", isSelected: false) { $0.host = "a.test:80" },
    Case(name: "what only rows have", isSelected: true) {
      $0.tag = "news"
      $0.minimumBytes = 1
      $0.isPinned = true
    },
  ]

  @Test("by account, key and target, and whatever it asks of rows", arguments: cases)
  func selection(testCase: Case) {
    var selection = EntrySelection.all
    testCase.change(&selection)
    #expect(selection.maySelect(Self.key) == testCase.isSelected)
  }

  @Test func `a target without a path is of its host, and a key of a program's own of none`() {
    var selection = EntrySelection.all
    selection.host = "a.test"
    #expect(selection.maySelect(RequestKey(target: "http://a.test")))
    #expect(!selection.maySelect(RequestKey(target: "key:a.test")))
  }
}
