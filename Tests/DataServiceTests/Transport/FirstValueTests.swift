import Testing
import TestTurns

@testable import DataService

@Suite("Transport: a value that is set once", .inTurn) struct FirstValueTests {
  @Test func `the first call decides, and is told so`() async {
    let first = FirstValue<String>()
    #expect(first.current == nil)
    let calls = [first.set("one"), first.set("two")]
    #expect(calls == [true, false])
    #expect(first.current == "one")
    let value = await first.value
    #expect(value == "one")
  }

  @Test func `a value that is nothing is a value`() async {
    let first = FirstValue<String?>()
    let isFirst = first.set(nil)
    let isSecond = first.set("late")
    #expect(isFirst && !isSecond)
    let value = await first.value
    #expect(value == nil)
  }

  @Test func `whoever waits has the value, whenever it is set`() async {
    for _ in 0..<200 {
      let first = FirstValue<Int>()
      let waiters = (0..<4).map { _ in Task { await first.value } }
      first.set(7)
      for waiter in waiters {
        let value = await waiter.value
        #expect(value == 7)
      }
    }
  }

  @Test func `the value is freed with it, and a refused one at once`() {
    final class Counted: Sendable {}
    weak var kept: Counted?
    weak var refused: Counted?
    do {
      let first = FirstValue<Counted>()
      do {
        let values = (Counted(), Counted())
        (kept, refused) = (values.0, values.1)
        first.set(values.0)
        first.set(values.1)
      }
      #expect(kept != nil && refused == nil)
      withExtendedLifetime(first) {}
    }
    #expect(kept == nil)
  }
}
