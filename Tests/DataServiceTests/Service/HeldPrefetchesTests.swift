import Testing
import TestTurns

@testable import DataService

@Suite("Which prefetches are held", .inTurn) struct HeldPrefetchesTests {
  private final class Prefetched: AnyPrefetch {
    let group: String?
    init(_ group: String? = nil) { self.group = group }
    func begin() {}
    func release(_ reason: ReleaseReason) {}
    func signOut(where condition: (PreparedRequest) -> Bool) {}
  }

  private func identities(_ prefetches: [any AnyPrefetch]) -> [ObjectIdentifier] {
    prefetches.map { ObjectIdentifier($0) }
  }

  @Test func `a new one replaces that of its own group alone, and the oldest where there are too many`() {
    var prefetches = HeldPrefetches()
    let (rows, cells, alone) = (Prefetched("rows"), Prefetched("cells"), Prefetched())
    for prefetch in [rows, cells, alone] {
      let replaced = prefetches.hold(prefetch, limit: 3)
      #expect(replaced.isEmpty)
    }
    let newRows = Prefetched("rows")
    let ofGroup = identities(prefetches.hold(newRows, limit: 3))
    #expect(ofGroup == identities([rows]))
    #expect(identities(prefetches.held) == identities([cells, alone, newRows]))
    // One without a group is of no other's.
    let another = Prefetched()
    let oldest = identities(prefetches.hold(another, limit: 3))
    #expect(oldest == identities([cells]))
    #expect(identities(prefetches.held) == identities([alone, newRows, another]))
  }

  @Test func `one that is committed is held no more, and still known; at the end nothing is held`() {
    var prefetches = HeldPrefetches()
    let (first, second, third) = (Prefetched(), Prefetched(), Prefetched())
    for prefetch in [first, second, third] { _ = prefetches.hold(prefetch, limit: 4) }
    let wanted = identities(prefetches.want(first))
    #expect(wanted == identities([first]))
    #expect(identities(prefetches.held) == identities([second, third]))
    #expect(identities(prefetches.all) == identities([second, third, first]))
    prefetches.remove(second)
    #expect(identities(prefetches.held) == identities([third]))
    let released = identities(prefetches.close())
    #expect(released == identities([third]))
    let late = Prefetched()
    let refused = identities(prefetches.hold(late, limit: 4))
    #expect(refused == identities([late]))
  }
}
