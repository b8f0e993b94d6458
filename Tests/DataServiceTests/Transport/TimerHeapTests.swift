import Synchronization
import Testing
import TestTurns

@testable import DataService

@Suite("Timer heap", .inTurn) struct TimerHeapTests {
  @Test func `timers come up by instant, those of one instant in the order they were set`() {
    var heap = TimerHeap()
    let fired = Mutex<[String]>([])
    for (name, instant) in [("c", 5), ("a", 1), ("b", 3), ("b again", 3), ("d", 9)] {
      heap.insert(TimerHandle { fired.withLock { $0.append(name) } }, at: Int64(instant))
    }
    while let timer = heap.removeDue(at: 9) { timer.fire() }
    #expect(fired.withLock { $0 } == ["a", "b", "b again", "c", "d"])
    #expect(heap.isEmpty)
  }

  @Test func `what is not due stays`() {
    var heap = TimerHeap()
    heap.insert(TimerHandle {}, at: 10)
    #expect(heap.removeDue(at: 9) == nil)
    #expect(heap.removeDue(at: 10) != nil)
  }

  @Test func `cancelled timers do not pile up`() {
    var heap = TimerHeap()
    for instant in 0..<100_000 {
      let timer = TimerHandle {}
      heap.insert(timer, at: Int64(instant))
      timer.cancel()
    }
    #expect(heap.count <= 128)
  }

  @Test func `any order of insertion comes out sorted`() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<50 {
      var heap = TimerHeap()
      let instants = (0..<200).map { _ in Int64.random(in: 0..<50, using: &generator) }
      for instant in instants { heap.insert(TimerHandle {}, at: instant) }
      var seen: [Int64] = []
      while let next = heap.nextInstant, heap.removeDue(at: .max) != nil { seen.append(next) }
      #expect(seen == instants.sorted())
    }
  }

  @Test func `where few timers stay, the next sweep comes at 64 again`() {
    var heap = TimerHeap()
    func insert(_ count: Int) {
      for _ in 0..<count {
        let timer = TimerHandle {}
        heap.insert(timer, at: 7)
        timer.cancel()
      }
    }
    insert(64)
    for _ in 0..<3 {
      insert(1)
      #expect(heap.count == 1, "what was there has been swept out")
      insert(63)
      #expect(heap.count == 64)
    }
  }

  @Test func `cancelled timers are swept out once there are many, and then at twice as many`() {
    var heap = TimerHeap()
    #expect(heap.isEmpty && heap.count == 0 && heap.nextInstant == nil)
    var waiting: [TimerHandle] = []
    func insert(_ count: Int, cancelled: Bool) {
      for _ in 0..<count {
        let timer = TimerHandle {}
        heap.insert(timer, at: 7)
        if cancelled { timer.cancel() } else { waiting.append(timer) }
      }
    }
    insert(40, cancelled: false)
    insert(24, cancelled: true)
    #expect(heap.count == 64 && heap.pending.count == 40)
    insert(1, cancelled: false)
    #expect(heap.count == 41, "the 65th sweeps")
    insert(39, cancelled: true)
    #expect(heap.count == 80)
    insert(1, cancelled: false)
    #expect(heap.count == 42, "at twice the 40 that stayed it sweeps again")
    #expect(heap.pending.map(\.timer).elementsEqual(waiting) { $0 === $1 }, "in the order they were set")
    #expect(heap.pending.allSatisfy { $0.instant == 7 } && heap.nextInstant == 7 && !heap.isEmpty)
  }
}
