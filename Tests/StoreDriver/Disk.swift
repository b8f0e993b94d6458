import CacheStore
import DataService
import PlatformC
import PlatformFoundation
import TestSupport

/// Downloads more than the disk holds with a service that keeps running, stores small responses, and removes everything
/// after another program has filled the disk. Prints the result of each.
struct Disk {
  private let path: String
  private let origin: String

  init(_ arguments: [String]) {
    path = arguments[1]
    origin = arguments[2]
  }

  func run() async throws {
    let service = service()
    StoreDriver.say("first \(await kept("/first", service))")
    StoreDriver.say("big \(await kept("/big", service))")
    // This call waits for the writes queued before it.
    _ = try await service.store.accountID(named: "another")
    StoreDriver.say("files \(size(path) + size(path + "-wal") < 2 << 20 ? "short" : "long")")
    for number in 1...3 { StoreDriver.say("small \(await kept("/small/\(number)", service))") }
    await service.store.performMaintenance(budget: .seconds(60))
    await service.close()
    // A long log would have free space inside, so truncate it.
    try RawDatabase(path).execute("PRAGMA wal_checkpoint(TRUNCATE)")

    let next = self.service()
    try fill()
    StoreDriver.say("full \(await kept("/late", next))")
    do throws(DataServiceError) {
      StoreDriver.say("removed \(try await next.remove(.all))")
      StoreDriver.say("left \(try await next.entries().count)")
    } catch {
      StoreDriver.say("cannot remove")
    }
    unlink(filler)
    StoreDriver.say("again \(await kept("/first", next))")
    await next.close()
    let check = try RawDatabase(path).rows("PRAGMA integrity_check").first?.first
    StoreDriver.say(check == "ok" ? "ok" : "damaged")
  }

  private func service() -> DataService {
    DataService(configuration: DataService.Configuration(store: .unhurried(path: path)))
  }

  private var filler: String { path + "-filler" }

  /// Fills the disk to its last byte, as another program may.
  private func fill() throws {
    let file = open(filler, O_WRONLY | O_CREAT, 0o600)
    defer { close(file) }
    for size in [1 << 20, 4096, 1] {
      let block = [UInt8](repeating: 1, count: size)
      while write(file, block, size) == size {}
    }
  }

  private func size(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  /// How many bytes of a fresh response arrived, and whether they were stored.
  private func kept(_ target: String, _ service: DataService) async -> String {
    guard let url = URL(string: origin + target) else { return "no URL" }
    var request = DataService.Request(url)
    request.limits = .unhurried
    for await delivery in service.streams(for: request, policy: .freshOnly) {
      switch delivery {
      case .stored: continue
      case .fresh(let response, _): return await kept(response)
      case .failure(let error, _): return "\(error)"
      }
    }
    return "nothing"
  }

  private func kept(_ response: DataService.Response<DataService.BodyStream>) async -> String {
    var count = 0
    do {
      while let piece = try await response.value.next() { count += piece.count }
    } catch { return "\(error)" }
    if case .no(let reason) = response.kept { return "\(count) \(reason.name)" }
    return "\(count) kept"
  }
}
