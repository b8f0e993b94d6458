import DataService

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Prints what is stored for a URL, then what the network says: `swift run minimal URL`.
@main struct Minimal {
  static func main() async {
    guard CommandLine.arguments.count == 2, let url = URL(string: CommandLine.arguments[1]) else {
      return print("usage: minimal URL")
    }
    let service = DataService()
    for await delivery in service.deliveries(for: DataService.Request(url)) {
      switch delivery {
      case .stored(let response):
        print("stored:", String(decoding: response.value, as: UTF8.self))
      case .fresh(let response, let change):
        print("fresh (\(change)):", String(decoding: response.value, as: UTF8.self))
      case .failure(let error, _):
        print("failure:", error.message)
      }
    }
    await service.close()
  }
}
