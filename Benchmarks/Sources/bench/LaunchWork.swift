import CacheStore
import DataService
import Launch

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a program does in its first seconds, on the real clock.
struct LaunchWork {
  let store: String
  let url: String

  private func service() -> DataService {
    DataService(configuration: .init(store: StoreConfiguration(path: store)))
  }

  private func request(_ path: String) -> DataService.Request {
    guard let url = URL(string: url + path) else { fail("no URL: \(url)\(path)") }
    return DataService.Request(url)
  }

  /// How long after its deadline a preload's outcome is in its caller's hands, with a step that never comes.
  func deadline(_ count: Int, _ deadline: Duration) async {
    let service = service()
    var times = Times(capacity: count)
    for number in 0..<count {
      var plan = PreloadPlan([PreloadStep("slow", request("/\(number)"))])
      plan.deadline = deadline
      plan.finishesIntoStore = false
      let end = Times.now + UInt64(deadline / .nanoseconds(1))
      let run = service.preload(plan)
      guard let outcome = await run.outcome() else { fail("no outcome") }
      if Times.now < end { fail("over before the deadline: \(outcome.verdict)") }
      times.add(since: end)
      if outcome.verdict != .incomplete { fail("the step came: \(outcome.verdict)") }
      await run.finished()
    }
    times.print()
    await service.close()
  }

  /// From wanting it to having it, with the load begun so much earlier; with 0, begun when it is wanted.
  func anticipation(_ count: Int, lead: Duration) async {
    let service = service()
    let decode: @Sendable (DataService.Response<Data>) throws -> Int = { $0.value.count }
    // The network library is loaded and connected in any case.
    for await _ in service.deliveries(for: request("/first"), decode: decode) {}
    var times = Times(capacity: count)
    for number in 0..<count {
      let request = request("/\(number)")
      let anticipation = lead > .zero ? service.anticipate(request, decode: decode) : nil
      do { try await Task.sleep(for: max(lead, .milliseconds(50))) } catch { fail("\(error)") }
      if let anticipation, !anticipation.isHeld { fail("not anticipated") }
      let wanted = Times.now
      let deliveries = anticipation?.commit() ?? service.deliveries(for: request, decode: decode)
      var isFresh = false
      for await delivery in deliveries {
        guard case .fresh = delivery else { continue }
        times.add(since: wanted)
        isFresh = true
      }
      if !isFresh { fail("no fresh answer") }
    }
    times.print()
    await service.close()
  }
}
