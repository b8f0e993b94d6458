import CacheStore
import DataService
import PlatformC
import PlatformFoundation
import TestSupport

/// Returns from `main` while TLS connections are being made, as a program does that has what it wants.
///
/// What it prints is in the C library's buffer until the exit handlers have run.
struct Leave {
  private let path: String
  private let port: Int

  init(_ arguments: [String]) throws {
    path = arguments[1]
    port = Int(arguments[2]) ?? 0
  }

  func run() async throws {
    let service = DataService(configuration: .init(store: .unhurried(path: path)))
    let loads = try (0..<32).map { number in
      guard let url = URL(string: "https://h\(number).test:\(port)/") else { throw CancellationError() }
      var request = DataService.Request(url)
      request.limits = .unhurried
      request.connection.isInsecure = true
      request.connection.resolutions = [.init(host: "h\(number).test", port: port, address: "127.0.0.1")]
      return service.deliveries(for: request, policy: .freshOnly)
    }
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for load in loads {
        group.addTask {
          for try await delivery in load { if case .fresh = delivery { return true } }
          return false
        }
      }
      let isAnswered = try await group.next() ?? false
      print(isAnswered ? "answered" : "failed")
      exit(0)
    }
  }
}
