import CacheStore
import DataService
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What a fleet's second tier brings and costs.
extension Workload {
  /// Puts rows into the tier as another machine would: an exchange for each, offered when the service ends.
  func share(_ count: Int) async {
    for number in 0..<count {
      let service = service()
      do {
        let response = try await service.response(for: request(number))
        guard response.kept == .yes else { fail("not kept: \(response.kept)") }
      } catch { fail("\(error)") }
      await service.close()
    }
  }

  /// From wanting what only the tier has to having it as stored. The origin takes a moment, as they do, so that it is not measured.
  func fromTier(_ count: Int) async {
    let service = service(transport: NotedTransport(bytes: bytes, hold: .milliseconds(2)))
    var times = Times(capacity: count)
    for number in 0...count {
      let request = request(number)
      var isStored = false
      let start = Times.now
      for await delivery in service.deliveries(for: request) {
        guard case .stored(let response) = delivery else { continue }
        // The first connects.
        if number > 0 { times.add(since: start) }
        guard response.source == .tier, response.value.count == bytes else { fail("not the tier's row") }
        isStored = true
      }
      if !isStored { fail("row \(number) is not in the tier") }
    }
    times.print()
    await service.close()
  }

  /// From an exchange's beginning until it comes to its origin, on a connection that is there: what an ask takes is how much
  /// longer that is with a tier than without.
  func ask(_ count: Int) async {
    let instants = Instants()
    let service = service(instants)
    var times = Times(capacity: count)
    // Once for each row, so that all of them are stored, and older in the tier.
    for number in 0..<(rows + count) {
      await exchange(service, request(number % rows))
      if number >= rows { instants.add(to: &times) }
    }
    times.print()
    await service.close()
  }

  /// The same for the first load and the second on each of so many stores, none of which knows yet whether the tier answers.
  func wait(_ count: Int) async {
    var times = Times(capacity: count * 2)
    for number in 0...count {
      let instants = Instants()
      let service = Workload(store: "\(store)-\(number)", rows: rows, bytes: bytes, tier: tier).service(
        instants)
      for load in 0..<2 {
        await exchange(service, request(load))
        // The first of all loads the network library.
        if number > 0 { instants.add(to: &times) }
      }
      await service.close()
    }
    times.print()
  }

  private func service(_ instants: Instants) -> DataService {
    var configuration = configuration
    configuration.onEvent = { event in
      if case .began = event.kind { instants.began.store(Times.now, ordering: .relaxed) }
    }
    return DataService(
      configuration: configuration, transport: NotedTransport(bytes: bytes, instants: instants))
  }

  private func exchange(_ service: DataService, _ request: DataService.Request) async {
    do {
      let response = try await service.response(for: request)
      guard response.source == .fresh else { fail("not fresh") }
    } catch { fail("\(error)") }
  }
}

/// When an exchange began, and when it came to its origin.
private final class Instants: Sendable {
  let began = Atomic<UInt64>(0)
  let reached = Atomic<UInt64>(0)

  func add(to times: inout Times) {
    times.add(from: began.load(ordering: .relaxed), to: reached.load(ordering: .relaxed))
  }
}

/// A constant answer after a time; notes when it is asked for.
private struct NotedTransport: Transport {
  let constant: ConstantTransport
  let hold: Duration
  let instants: Instants

  init(bytes: Int, hold: Duration = .zero, instants: Instants = Instants()) {
    constant = ConstantTransport(bytes: bytes)
    self.hold = hold
    self.instants = instants
  }

  func response(to request: TransportRequest) async throws(DataServiceError) -> TransportResponse {
    instants.reached.store(Times.now, ordering: .relaxed)
    if hold > .zero { try? await Task.sleep(for: hold) }
    return try await constant.response(to: request)
  }
}
