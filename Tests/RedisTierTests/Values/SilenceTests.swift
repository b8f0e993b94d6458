import TestTurns
import Testing

@testable import RedisTier

@Suite("When a tier is asked", .inTurn) struct SilenceTests {
  private static let second: Int64 = 1_000_000_000
  private static let patience: Int64 = 100_000_000

  private func silence() -> Silence { Silence(patience: Self.patience) }

  @Test func `a silence is five seconds long, then twice as long each time, up to a minute`() {
    var (mark, now) = (Int64(0), 100 * Self.second)
    for length in [5, 10, 20, 40, 60, 60, 60] as [Int64] {
      var process = silence()
      #expect(process.decide(at: now, mark: &mark) == .ask, "\(length)")
      process.failed(at: now, mark: &mark)
      var other = silence()
      guard case .silent(let rest) = other.decide(at: now + 1_000, mark: &mark) else {
        Issue.record("it is asked")
        return
      }
      #expect(abs(rest - length * Self.second) < 2_000, "\(length)")
      now += length * Self.second + 1
    }
    var process = silence()
    #expect(process.decide(at: now, mark: &mark) == .ask)
    process.answered(at: now, isSlow: false, mark: &mark)
    #expect(process.decide(at: now, mark: &mark) == .ask)
    process.failed(at: now, mark: &mark)
    #expect(silence().rest(at: now, mark) <= 5 * Self.second, "an answer begins anew")
  }

  @Test func `a failure within a silence says nothing new, and one at its end begins the next`() {
    var mark: Int64 = 0
    let now = 100 * Self.second
    var first = silence()
    #expect(first.decide(at: now, mark: &mark) == .ask)
    first.failed(at: now, mark: &mark)
    let (known, end) = (mark, now + first.rest(at: now, mark))
    var late = silence()
    late.failed(at: end - 1, mark: &mark)
    #expect(mark == known)
    late.failed(at: end, mark: &mark)
    #expect(late.rest(at: end, mark) > 9 * Self.second)
  }

  @Test func `one process finds out whether a tier answers, and the others do without it meanwhile`() {
    var (mark, now) = (Int64(0), 100 * Self.second)
    for _ in 0..<3 {
      var processes = (0..<100).map { _ in silence() }
      let asking = processes.indices.filter { processes[$0].decide(at: now, mark: &mark) == .ask }
      #expect(asking == [0])
      #expect(processes[0].decide(at: now, mark: &mark) == .ask, "its own questions go together")
      processes[0].failed(at: now + Self.patience, mark: &mark)
      now += 61 * Self.second
    }
    var first = silence()
    #expect(first.decide(at: now, mark: &mark) == .ask)
    first.answered(at: now, isSlow: false, mark: &mark)
    for _ in 0..<3 {
      var other = silence()
      #expect(other.decide(at: now, mark: &mark) == .ask, "everybody knows that it answers")
    }
  }

  @Test func `a process that ends while it finds out is followed by the next`() {
    var (mark, now) = (Int64(0), 100 * Self.second)
    var gone = silence()
    #expect(gone.decide(at: now, mark: &mark) == .ask)
    now += 2 * Self.patience + 1
    var next = silence()
    #expect(next.decide(at: now, mark: &mark) == .ask)
  }

  @Test func `eight slow answers in a row are as good as none, whichever processes get them`() {
    var (mark, now) = (Int64(0), 100 * Self.second)
    for count in 1...12 {
      var process = silence()
      #expect(process.decide(at: now, mark: &mark) == .ask)
      // One quick answer begins the count anew.
      process.answered(at: now, isSlow: count != 4, mark: &mark)
      now += Self.second
    }
    #expect(mark > now)
  }

  @Test func `a mark of another boot says nothing`() {
    var mark = 1_000_000 * Self.second | 3
    var process = silence()
    #expect(process.decide(at: Self.second, mark: &mark) == .ask)
  }

  @Test func `several that fail together make one silence`() {
    var (mark, now) = (Int64(-16), 100 * Self.second)
    var processes = (0..<5).map { _ in silence() }
    for index in processes.indices { #expect(processes[index].decide(at: now, mark: &mark) == .ask) }
    for index in processes.indices {
      processes[index].failed(at: now, mark: &mark)
      now += 1_000
    }
    #expect(silence().rest(at: now, mark) <= 5 * Self.second)
  }

  @Test func `a process whose mark nobody keeps is silent for itself`() {
    var process = silence()
    var lost: Int64 = 0
    #expect(process.decide(at: Self.second, mark: &lost) == .ask)
    lost = 0
    process.failed(at: Self.second, mark: &lost)
    lost = 0
    #expect(process.decide(at: 2 * Self.second, mark: &lost) != .ask)
  }

  @Test func `ten values in a minute that do not open are one too many`() {
    var process = silence()
    for count in 1...20 {
      let isOneTooMany = process.didNotOpen(at: Int64(count) * 10 * Self.second)
      #expect(!isOneTooMany)
    }
    var other = silence()
    for count in 1...10 {
      let isOneTooMany = other.didNotOpen(at: Int64(count) * Self.second)
      #expect(isOneTooMany == (count == 10))
    }
  }
}

extension Silence {
  fileprivate func rest(at now: Int64, _ mark: Int64) -> Int64 {
    var (copy, mark) = (self, mark)
    guard case .silent(let rest) = copy.decide(at: now, mark: &mark) else { return 0 }
    return rest
  }
}
