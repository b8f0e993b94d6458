import CacheStore
import DataService
import Dispatch
import RedisTier
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The operations that are timed, on a store of so many rows.
struct Workload {
  let store: String
  let rows: Int
  let bytes: Int
  /// The URL of a second tier; `nil` for none.
  var tier: String?

  var configuration: DataService.Configuration {
    var configuration = DataService.Configuration(store: StoreConfiguration(path: store))
    do { configuration.tier = try tier.map { (url) throws(DataServiceError) in try .redis(url) } } catch {
      fail("\(error)")
    }
    return configuration
  }

  func service(transport: (any Transport)? = nil) -> DataService {
    DataService(configuration: configuration, transport: transport ?? ConstantTransport(bytes: bytes))
  }

  func request(_ number: Int) -> DataService.Request {
    guard let url = URL(string: "http://127.0.0.1/item/\(number)") else { fail("no URL") }
    return DataService.Request(url)
  }

  func fill(rows: Int, bytes: Int) async {
    let service = service(transport: ConstantTransport(bytes: bytes))
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<rows {
        if number >= 32 { await group.next() }
        let request = request(number)
        group.addTask {
          do {
            let response = try await service.response(for: request, policy: .freshOnly)
            // One that was not committed in time for its delivery is committed before `close` returns.
            if case .no(let reason) = response.kept, reason != .busy {
              fail("row \(number) not kept: \(reason)")
            }
          } catch { fail("row \(number): \(error)") }
        }
      }
    }
    await service.close()
  }

  func look(_ count: Int) {
    let service = service()
    let requests = (0..<rows).map(request)
    var times = Times(capacity: count)
    for number in 0..<count {
      let start = Times.now
      let response = service.storedResponse(for: requests[number % rows])
      times.add(since: start)
      if response?.value.isEmpty ?? true { fail("nothing stored") }
    }
    times.print()
  }

  func miss(_ count: Int) {
    let service = service()
    var times = Times(capacity: count)
    for number in 0..<count {
      let request = request(rows + number)
      let start = Times.now
      let response = service.storedResponse(for: request)
      times.add(since: start)
      if response != nil { fail("should be a miss") }
    }
    times.print()
  }

  func open(_ count: Int) async {
    let request = request(0)
    var times = Times(capacity: count)
    for _ in 0..<count {
      let start = Times.now
      let service = service()
      if stored(service, request) == nil { fail("nothing stored") }
      times.add(since: start)
      await service.close()
    }
    times.print()
  }

  /// `storedResponse` is not for asynchronous code; here the thread is ours to block.
  private func stored(_ service: DataService, _ request: DataService.Request) -> DataService.Response<Data>? {
    service.storedResponse(for: request)
  }

  func sequence(_ count: Int) async {
    let service = service()
    let requests = (0..<rows).map(request)
    var times = Times(capacity: count)
    for number in 0..<count {
      let start = Times.now
      var size = 0
      for await delivery in service.deliveries(for: requests[number % rows], policy: .storedOnly) {
        if case .stored(let response) = delivery { size = response.value.count }
      }
      times.add(since: start)
      if size == 0 { fail("nothing stored") }
    }
    times.print()
  }

  func callback(_ count: Int) {
    let service = service()
    let requests = (0..<rows).map(request)
    let queue = DispatchQueue(label: "bench")
    let done = DispatchSemaphore(value: 0)
    // The delivery is there when the callback begins; how long this thread takes to wake up is not part of it.
    let called = Atomic<UInt64>(0)
    var times = Times(capacity: count)
    for number in 0..<count {
      let start = Times.now
      service.load(requests[number % rows], policy: .storedOnly, queue: queue) { delivery in
        called.store(Times.now, ordering: .relaxed)
        guard case .stored(let response) = delivery, !response.value.isEmpty else { fail("nothing stored") }
        done.signal()
      }
      done.wait()
      times.add(from: start, to: called.load(ordering: .relaxed))
    }
    times.print()
  }

  /// The part of a callback that is spent on the queue: from when the queue comes to the load's block until the callback begins.
  ///
  /// The block before it, whose end is when the queue comes to it, is there for that alone; what the queue takes to go from one
  /// to the other is counted.
  func block(_ count: Int) {
    let service = service()
    let requests = (0..<rows).map(request)
    let queue = DispatchQueue(label: "bench")
    let done = DispatchSemaphore(value: 0)
    let reached = Atomic<UInt64>(0)
    let called = Atomic<UInt64>(0)
    var times = Times(capacity: count)
    for number in 0..<count {
      queue.suspend()
      queue.async { reached.store(Times.now, ordering: .relaxed) }
      service.load(requests[number % rows], policy: .storedOnly, queue: queue) { delivery in
        called.store(Times.now, ordering: .relaxed)
        guard case .stored(let response) = delivery, !response.value.isEmpty else { fail("nothing stored") }
        done.signal()
      }
      queue.resume()
      done.wait()
      times.add(from: reached.load(ordering: .relaxed), to: called.load(ordering: .relaxed))
    }
    times.print()
  }

  /// What Dispatch alone takes to call back on a queue: the floor of ``callback(_:)``.
  func hop(_ count: Int) {
    let queue = DispatchQueue(label: "bench")
    let done = DispatchSemaphore(value: 0)
    let called = Atomic<UInt64>(0)
    var times = Times(capacity: count)
    for _ in 0..<count {
      let start = Times.now
      queue.async {
        called.store(Times.now, ordering: .relaxed)
        done.signal()
      }
      done.wait()
      times.add(from: start, to: called.load(ordering: .relaxed))
    }
    times.print()
  }

  func oneShot(_ count: Int) async {
    let service = service()
    let requests = (0..<rows).map(request)
    var times = Times(capacity: count)
    for number in 0..<count {
      let start = Times.now
      let response = try? await service.response(for: requests[number % rows], policy: .storedOnly)
      times.add(since: start)
      if response?.value.isEmpty ?? true { fail("nothing stored") }
    }
    times.print()
  }

  func overwrite(_ count: Int) async {
    let service = service()
    var times = Times(capacity: count)
    for number in 0..<count {
      let request = request(number % rows)
      let start = Times.now
      await keep(service, request)
      times.add(since: start)
    }
    times.print()
  }

  /// A new row in a store that has as many as it may: each lets the least recently used one go.
  func trim(_ count: Int) async {
    var configuration = StoreConfiguration(path: store)
    configuration.maximumRows = rows
    let service = DataService(
      configuration: .init(store: configuration), transport: ConstantTransport(bytes: bytes))
    // Not those of an earlier run.
    let first = Int(Times.now >> 10)
    var times = Times(capacity: count)
    for number in 0..<count {
      let request = request(first + number)
      let start = Times.now
      await keep(service, request)
      times.add(since: start)
    }
    await service.close()
    times.print()
  }

  func mixed(_ count: Int) async {
    let service = service()
    let requests = (0..<rows).map(request)
    var times = Times(capacity: count)
    var random = SystemRandomNumberGenerator()
    for number in 0..<count {
      let request = requests[Int.random(in: 0..<rows, using: &random)]
      let start = Times.now
      if number % 10 == 9 {
        await keep(service, request)
      } else if (try? await service.response(for: request, policy: .storedOnly)) == nil {
        fail("nothing stored")
      }
      times.add(since: start)
    }
    times.print()
  }

  func refresh(_ count: Int, url text: String, byCallback: Bool) async {
    guard let url = URL(string: text) else { fail("no URL: \(text)") }
    let service = DataService(configuration: .init(store: StoreConfiguration(path: store)))
    let request = DataService.Request(url)
    await keep(service, request)
    var times = Times(capacity: count)
    for _ in 0..<count {
      let start = Times.now
      if byCallback {
        times.add(from: start, to: called(service, request))
      } else {
        await keep(service, request)
        times.add(since: start)
      }
    }
    times.print()
  }

  private func keep(_ service: DataService, _ request: DataService.Request) async {
    do {
      let response = try await service.response(for: request, policy: .freshOnly)
      // Where several processes write one row, a newer answer may already be there: that is the law, not a fault.
      if case .no(let reason) = response.kept, reason.name != "superseded" { fail("not kept: \(reason)") }
      if response.value.isEmpty { fail("empty") }
    } catch { fail("\(error)") }
  }

  /// - Returns: When the callback began.
  private func called(_ service: DataService, _ request: DataService.Request) -> UInt64 {
    let done = DispatchSemaphore(value: 0)
    let called = Atomic<UInt64>(0)
    service.load(request, policy: .freshOnly, queue: Self.queue) { delivery in
      called.store(Times.now, ordering: .relaxed)
      guard case .fresh(let response, _) = delivery, !response.value.isEmpty else { fail("not fresh") }
      done.signal()
    }
    done.wait()
    return called.load(ordering: .relaxed)
  }

  private static let queue = DispatchQueue(label: "bench")
}
