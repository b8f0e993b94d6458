import Foundation

import FoundationNetworking

/// Foundation's URLSession with a URLCache on disk: one process, one URL; or many loads in one process.
///
/// usage: urlsession-peer FOLDER URL [COUNT]
/// Without COUNT prints the body, from the cache where there is one. With COUNT prints each load's nanoseconds.
@main struct Peer {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count > 2, let url = URL(string: arguments[2]) else { exit(64) }
    let configuration = URLSessionConfiguration.default
    configuration.urlCache = URLCache(
      memoryCapacity: 0, diskCapacity: 256 << 20, diskPath: arguments[1])
    configuration.requestCachePolicy = .returnCacheDataElseLoad
    let session = URLSession(configuration: configuration)
    guard arguments.count > 3, let count = Int(arguments[3]) else {
      let (data, _) = try await session.data(from: url)
      try FileHandle.standardOutput.write(contentsOf: data)
      return
    }
    _ = try await session.data(from: url)
    for _ in 0..<count {
      let start = DispatchTime.now().uptimeNanoseconds
      let (data, _) = try await session.data(from: url)
      guard !data.isEmpty else { exit(1) }
      print(DispatchTime.now().uptimeNanoseconds - start)
    }
  }
}
