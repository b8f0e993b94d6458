import CacheStore
import DataService

import FoundationEssentials

import Glibc

/// How soon one process has what another has committed. Instants are nanoseconds of the clock that all processes share.
struct FollowWork {
  let store: String
  let url: String

  private var request: DataService.Request {
    guard let url = URL(string: url) else { fail("no URL: \(url)") }
    return DataService.Request(url)
  }

  /// Says that it begins, then when the fresh response was in its caller's hands.
  func follow() async {
    let service = DataService(configuration: .init(store: StoreConfiguration(path: store)))
    Self.say("begins")
    for await delivery in service.deliveries(for: request, policy: .freshElseStored(within: nil)) {
      guard case .fresh = delivery else { fail("no fresh answer") }
      Self.say("\(Times.now)")
    }
    await service.close()
  }

  /// Says when it saw each of so many changes of a row.
  func observe(_ count: Int) async {
    let service = DataService(configuration: .init(store: StoreConfiguration(path: store)))
    Self.say("observes")
    var seen = 0
    do {
      for try await response in service.changes(to: request) where response != nil {
        // The first is what is stored already.
        if seen > 0 { Self.say("\(Times.now)") }
        seen += 1
        if seen > count { break }
      }
    } catch { fail("\(error)") }
    await service.close()
  }

  /// Overwrites a row so many times, so far apart, and says when each was committed.
  func commit(_ count: Int, every pause: Duration) async {
    let service = DataService(
      configuration: .init(store: StoreConfiguration(path: store)),
      transport: ConstantTransport(bytes: 10_000))
    for _ in 0..<count {
      do {
        try await Task.sleep(for: pause)
        let response = try await service.response(for: request, policy: .freshOnly)
        guard response.kept == .yes else { fail("not kept") }
      } catch { fail("\(error)") }
      Self.say("\(Times.now)")
    }
    await service.close()
  }

  private static func say(_ line: String) {
    var line = line + "\n"
    line.withUTF8 { _ = write(1, $0.baseAddress, $0.count) }
  }
}
