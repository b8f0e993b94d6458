import DataService
import PlatformFoundation
import Synchronization
import Testing
import TestTurns

@testable import cachefetch

@Suite("Command: loads under way, and what they deliver", .inTurn) struct LoadReaderTests {
  /// What was done with the loads, in order.
  private final class Log: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func note(_ line: String) { lines.withLock { $0.append(line) } }
  }

  private static let stored = LoadReader.Delivery.stored(Sample.response([0x61], isStored: true))
  private static let fresh = LoadReader.Delivery.fresh(Sample.response([0x62]), .changed)
  private static let request = DataService.Request(URL(filePath: "/x"))

  /// A reader of loads that deliver at once, on the thread that begins them.
  private func made(
    _ deliveries: [LoadReader.Delivery], ends: Bool = true, noting log: Log = Log()
  ) -> LoadReader {
    let loads = ScriptedLoads(deliveries: { deliveries }, ends: ends, note: log.note)
    return LoadReader(loads, diagnostics: Diagnostics(isQuiet: true))
  }

  @Test func `a load is under way until its end, which is waited for from its last delivery on`() throws {
    let reader = made([Self.stored, Self.fresh])
    let idle = try #require(reader.deadline)
    reader.begin(7, Self.request, .storedThenFresh)
    #expect(reader.numbers == [7] && reader.deadline == nil)
    guard case .delivery(7, .stored)? = reader.poll() else {
      Issue.record("the stored delivery comes first")
      return
    }
    #expect(reader.deadline == nil)
    guard case .delivery(7, .fresh)? = reader.poll() else {
      Issue.record("the fresh delivery comes second")
      return
    }
    let answered = try #require(reader.deadline)
    #expect(answered > idle)
    guard case .ended(7)? = reader.poll() else {
      Issue.record("the end comes last")
      return
    }
    #expect(reader.numbers.isEmpty && reader.deadline == answered)
    let isMore = reader.poll() != nil
    #expect(!isMore)
  }

  @Test func `while one of several loads is not answered there is no end to the wait`() throws {
    let reader = made([Self.fresh], ends: false)
    for number in 0..<2 { reader.begin(number, Self.request, .storedThenFresh) }
    #expect(reader.poll() != nil && reader.numbers == [0, 1] && reader.deadline == nil)
    #expect(reader.poll() != nil && reader.numbers == [0, 1] && reader.deadline != nil)
  }

  @Test func `a stored delivery that is the last one begins the wait for the store anew`() throws {
    let reader = made([Self.stored])
    let idle = try #require(reader.deadline)
    reader.begin(0, Self.request, .storedOnly)
    while reader.poll() != nil {}
    let renewed = try #require(reader.deadline)
    #expect(renewed > idle)
  }

  @Test func `the store has five seconds after the last delivery`() {
    #expect(LoadReader.writing == .seconds(5))
  }

  @Test func `at its end what is still under way is cancelled, and the service closed`() {
    let log = Log()
    let reader = made([Self.stored], ends: false, noting: log)
    reader.begin(1, Self.request, .storedThenFresh)
    let status = reader.run(timeLimit: .seconds(1)) { () throws(OutputError) in .storedOnly }
    #expect(status == .storedOnly && log.all == ["cancelled", "ends with 3", "closed"], "\(log.all)")
  }

  @Test func `an output that nobody reads cancels it too, and is its exit status`() {
    let log = Log()
    let reader = made([Self.stored], ends: false, noting: log)
    reader.begin(1, Self.request, .storedThenFresh)
    let status = reader.run(timeLimit: .seconds(1)) { () throws(OutputError) in throw OutputError.closed }
    #expect(status == .brokenPipe && log.all == ["cancelled", "closed"], "\(log.all)")
  }
}
