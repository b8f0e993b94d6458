import DataService
import Testing
import TestTurns

@testable import cachefetch

@Suite("Output: what --print prints", .inTurn) struct PrintRuleTests {
  @Test(
    "a stored body is printed at once, held back where a fresh one may be last, or skipped",
    arguments: [
      (.both, .print), (.stored, .print), (.changed, .skip), (.last, .hold), (.fresh, .skip), (.none, .skip),
    ] as [(PrintMode, PrintRule.Action)])
  func stored(mode: PrintMode, expected: PrintRule.Action) {
    #expect(PrintRule.stored(mode, mayBecomeFresh: true) == expected)
    // There is nothing to wait for where it is all there will be.
    #expect(PrintRule.stored(mode, mayBecomeFresh: false) == (expected == .hold ? .print : expected))
  }

  @Test func `an unchanged fresh body is skipped where the stored one was printed, on a terminal or not`() {
    func fresh(_ mode: PrintMode, isRecord: Bool = false, _ wasPrinted: Bool = true) -> PrintRule.Action {
      PrintRule.fresh(mode, .unchanged, isRecord: isRecord, wasStoredPrinted: wasPrinted)
    }
    #expect(fresh(.both) == .skip && fresh(.both, false) == .print && fresh(.both, isRecord: true) == .print)
    #expect(fresh(.changed) == .skip && fresh(.last) == .print && fresh(.fresh) == .print)
    #expect(fresh(.changed, isRecord: true) == .skip)
    #expect(fresh(.stored) == .skip && fresh(.none) == .skip)
    #expect(fresh(.changed, false) == .skip)
    #expect(PrintRule.fresh(.changed, .changed, isRecord: false, wasStoredPrinted: false) == .print)
  }

  @Test func `a failure's object is printed where no stored one takes its place`() {
    for mode in [PrintMode.both, .fresh, .changed] {
      #expect(PrintRule.failure(mode, wasStoredPrinted: true) == .print, "\(mode)")
    }
    for mode in [PrintMode.last, .stored] {
      #expect(PrintRule.failure(mode, wasStoredPrinted: true) == .skip, "\(mode)")
      #expect(PrintRule.failure(mode, wasStoredPrinted: false) == .print, "\(mode)")
    }
    #expect(PrintRule.failure(.none, wasStoredPrinted: false) == .skip)
  }

  @Test func `neither the file nor --one takes an error's page or a portal's`() {
    #expect(
      PrintRule.isAnswer(status: 200, kept: .yes) && PrintRule.isAnswer(status: 399, kept: .no(.status)))
    #expect(!PrintRule.isAnswer(status: 400, kept: .no(.status)))
    #expect(!PrintRule.isAnswer(status: 200, kept: .no(.portal)))
  }
}
