import PlatformC
import Testing
import TestTurns

@testable import cachefetch

@Suite("System: messages for the main thread", .inTurn) struct MailboxTests {
  @Test func `they are taken in the order in which they were posted`() {
    let mailbox = Mailbox<Int>()
    #expect(mailbox.next() == nil)
    for number in 1...3 { mailbox.post(number) }
    #expect(mailbox.next() == 1)
    mailbox.post(4)
    #expect((mailbox.next(), mailbox.next(), mailbox.wait(), mailbox.next()) == (2, 3, 4, nil))
  }

  @Test @MainActor func `whoever waits has what comes meanwhile, or nothing when the time is over`() async {
    let mailbox = Mailbox<Int>()
    #expect(mailbox.wait(milliseconds: 0, heedsSignals: false) == nil)
    #expect(mailbox.wait(milliseconds: 1) == nil)
    for heeds in [true, false] {
      Task.detached { mailbox.post(7) }
      #expect(mailbox.wait(heedsSignals: heeds) == 7, "\(heeds)")
    }
  }

  @Test @MainActor func `a wake-up for what was taken already is over at the next wait`() {
    let mailbox = Mailbox<Int>()
    #expect(mailbox.wait(milliseconds: 0) == nil)
    mailbox.post(1)
    #expect(mailbox.next() == 1)
    #expect(mailbox.wait(milliseconds: 1) == nil)
    mailbox.post(2)
    #expect(mailbox.wait(milliseconds: -1) == 2)
  }

  @Test @MainActor func `many from several tasks all arrive, each once`() async {
    let mailbox = Mailbox<Int>()
    for task in 0..<4 { Task.detached { for number in 0..<250 { mailbox.post(task * 250 + number) } } }
    var all: [Int] = []
    while all.count < 1_000, let number = mailbox.wait() { all.append(number) }
    #expect(all.sorted() == Array(0..<1_000))
    for task in 0..<4 { #expect(all.filter { $0 / 250 == task } == Array(task * 250..<task * 250 + 250)) }
  }

  @Test @MainActor func `an output without a reader ends the wait, once what has come is taken`() throws {
    let mailbox = Mailbox<Int>()
    var ends: [Int32] = [-1, -1]
    #expect(pipe(&ends) == 0)
    let output = OutputDescriptor(number: ends[1])
    #expect(try mailbox.wait(milliseconds: 0, output: output) == nil)
    close(ends[0])
    mailbox.post(7)
    #expect(try mailbox.wait(milliseconds: -1, output: output) == 7)
    #expect(throws: OutputError.closed) { try mailbox.wait(milliseconds: -1, output: output) }
    close(ends[1])
  }

  @Test @MainActor func `a result is waited for`() throws {
    let result = Await.result { () async throws(OutputError) in
      await Task.yield()
      return 3
    }
    #expect(try result?.get() == 3)
    let failure = Await.result { () async throws(OutputError) -> Int in throw OutputError.closed }
    guard case .failure(.closed)? = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
  }
}
