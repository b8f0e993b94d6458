import DataService
import PlatformFoundation
import Synchronization
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command: loads under way, and what they deliver", .inTurn) struct DeliveryQueueTests {
  /// What was done with the loads, in order.
  private final class Log: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func note(_ line: String) { lines.withLock { $0.append(line) } }
  }

  private static let stored = DeliveryQueue.Delivery.stored(Sample.response([0x61], isStored: true))
  private static let fresh = DeliveryQueue.Delivery.fresh(Sample.response([0x62]), .changed)
  private static let request = DataService.Request(URL(filePath: "/x"))

  /// A queue whose loads deliver at once, on the thread that starts them.
  private func made(
    _ deliveries: [DeliveryQueue.Delivery], ends: Bool = true, noting log: Log = Log()
  ) -> DeliveryQueue {
    var loadStarter = LoadStarter(
      start: { _, _, _, deliver, ended in
        for delivery in deliveries { deliver(delivery) }
        if ends { ended() }
        return { log.note("cancelled") }
      },
      close: { _ in
        log.note("closed")
        return true
      })
    loadStarter.endAfter = { _, status in log.note("ends with \(status.rawValue)") }
    return DeliveryQueue(loadStarter, diagnostics: Diagnostics(isQuiet: true))
  }

  @Test func `a load is under way until its end, which is waited for from its last delivery on`() throws {
    let queue = made([Self.stored, Self.fresh])
    let idle = try #require(queue.deadline)
    queue.start(7, Self.request, .storedThenFresh)
    #expect(queue.numbers == [7] && queue.underWay == 1 && queue.deadline == nil)
    guard case .delivery(7, .stored)? = queue.next() else {
      Issue.record("the stored delivery comes first")
      return
    }
    #expect(queue.deadline == nil)
    guard case .delivery(7, .fresh)? = queue.next() else {
      Issue.record("the fresh delivery comes second")
      return
    }
    let answered = try #require(queue.deadline)
    #expect(answered > idle && queue.underWay == 1)
    guard case .ended(7)? = queue.next() else {
      Issue.record("the end comes last")
      return
    }
    #expect(queue.numbers.isEmpty && queue.underWay == 0 && queue.deadline == answered)
    let isMore = queue.next() != nil
    #expect(!isMore)
  }

  @Test func `while one of several loads is not answered there is no end to the wait`() throws {
    let queue = made([Self.fresh], ends: false)
    for number in 0..<2 { queue.start(number, Self.request, .storedThenFresh) }
    #expect(queue.next() != nil && queue.numbers == [0, 1] && queue.deadline == nil)
    #expect(queue.next() != nil && queue.numbers == [0, 1] && queue.deadline != nil)
  }

  @Test func `a stored delivery that is the last one begins the wait for the store anew`() throws {
    let queue = made([Self.stored])
    let idle = try #require(queue.deadline)
    queue.start(0, Self.request, .storedOnly)
    while queue.next() != nil {}
    let renewed = try #require(queue.deadline)
    #expect(renewed > idle)
  }

  @Test func `the store has five seconds after the last delivery`() {
    #expect(DeliveryQueue.writing == .seconds(5))
  }

  @Test func `at its end what is still under way is cancelled, and the service closed`() {
    let log = Log()
    let queue = made([Self.stored], ends: false, noting: log)
    queue.start(1, Self.request, .storedThenFresh)
    let stopped = queue.run(timeLimit: .seconds(1), status: { .storedOnly }) { () throws(OutputError) in }
    #expect(stopped == nil && log.all == ["cancelled", "ends with 3", "closed"], "\(log.all)")
  }

  @Test func `an output that nobody reads cancels it too, and is its exit status`() {
    let log = Log()
    let queue = made([Self.stored], ends: false, noting: log)
    queue.start(1, Self.request, .storedThenFresh)
    let stopped = queue.run(timeLimit: .seconds(1), status: { .success }) { () throws(OutputError) in
      throw OutputError.closed
    }
    #expect(stopped == .brokenPipe && log.all == ["cancelled", "closed"], "\(log.all)")
  }
}
