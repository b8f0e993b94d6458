import CacheStore
import DataService
import Dispatch
import Launch

import FoundationEssentials

import Glibc

/// What a launch asks of the main actor: the longest piece of work it does there, in processor time.
///
/// A block that puts itself back at the end of the main queue runs between any two other pieces of work there, so that
/// the processor time from one of its runs to the next is that of at most one such piece. It also keeps the queue from
/// ever being empty, so that one thread empties it throughout, whose processor time nothing else is part of.
@MainActor final class MainActorWork {
  private let store: String
  private let url: String
  private var longest: UInt64 = 0
  private var last: UInt64 = 0
  private var thread: pthread_t?
  private var isOver = false

  init(store: String, url: String) {
    self.store = store
    self.url = url
  }

  /// One launch after another on one store, the first with nothing stored; prints the longest piece of each.
  func launches(_ count: Int) async {
    var times = Times(capacity: count)
    beat()
    for _ in 0..<count {
      longest = 0
      await launch()
      times.add(from: 0, to: longest)
    }
    isOver = true
    times.print()
  }

  /// A program's first seconds: everything made, begun and taken on the main actor.
  private func launch() async {
    let service = DataService(configuration: .init(store: StoreConfiguration(path: store)))
    var steps: [PreloadStep] = []
    for number in 0..<20 {
      guard let url = URL(string: "\(url)?step=\(number)") else { fail("no URL: \(url)") }
      steps.append(
        PreloadStep("step \(number)", DataService.Request(url)) { response in
          // As long as a decoder may take: on the main actor it would be what is measured.
          var sum = 0
          for _ in 0..<200 { for byte in response.value { sum &+= Int(byte) } }
          return sum
        })
    }
    let run = service.preload(PreloadPlan(steps))
    var outcome: PreloadOutcome?
    for await event in run.events {
      if case .outcome(let last) = event { outcome = last }
    }
    guard outcome?.verdict == .ready else { fail("not ready: \(String(describing: outcome?.verdict))") }
    await withCheckedContinuation { continuation in
      service.load(steps[0].request, policy: .storedOnly) { delivery in
        guard case .stored = delivery else { fail("nothing stored") }
        continuation.resume()
      }
    }
    await service.close()
  }

  private func beat() {
    guard !isOver else { return }
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    let now = UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    if thread == pthread_self() { longest = max(longest, now - last) }
    thread = pthread_self()
    last = now
    DispatchQueue.main.async { MainActor.assumeIsolated { self.beat() } }
  }
}
