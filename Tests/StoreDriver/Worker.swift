import CFaultVFS
import CacheStore
import PlatformFoundation
import TestSupport

/// Overwrites, freshens, removes and cleans up, and reports each operation before and after it.
struct Worker {
  private let path: String
  private var random: SeededGenerator
  private var version: Int64
  private let operations: Int
  private let vfs: String?

  init(_ arguments: [String]) {
    path = arguments[1]
    random = SeededGenerator(seed: UInt64(arguments[2]) ?? 0)
    version = Int64(arguments[3]) ?? 0
    operations = Int(arguments[4]) ?? 0
    guard arguments.count > 6, faultvfs_register("fault") != 0 else {
      vfs = nil
      return
    }
    vfs = "fault"
    faultvfs_arm("fault", Int32(arguments[5]) ?? 0, Int64(arguments[6]) ?? 0, Int32(FAULT_KILL), 0)
  }

  mutating func run() async throws {
    var configuration = StoreConfiguration.unhurried(path: path)
    configuration.chunkBytes = 2000
    configuration.vfs = vfs
    let store = ResponseStore(configuration: configuration)
    let account = try await store.accountID(named: "")
    for _ in 0..<operations {
      let key = Int.random(in: 0..<6, using: &random)
      let lease = try store.tryLease(UInt64(key))
      defer { lease?.release() }
      version += 1
      switch Int.random(in: 0..<100, using: &random) {
      case ..<70: try await overwrite(key, account, store)
      case ..<80: try await freshen(key, store)
      case ..<88:
        StoreDriver.say("removing \(key) \(version)")
        _ = try await store.remove(selection(key), started: mark)
        StoreDriver.say("removed \(key) \(version)")
      default: await store.performMaintenance(budget: .seconds(1))
      }
    }
    await store.close()
    StoreDriver.say("calls \(faultvfs_count("fault"))")
  }

  private var mark: StartMark { StartMark(boot: "boot-1", nanoseconds: version) }

  private func selection(_ key: Int) -> EntrySelection {
    var selection = EntrySelection.all
    selection.prefix = "https://example.org/\(key)"
    return selection
  }

  private mutating func overwrite(_ key: Int, _ account: Int64, _ store: ResponseStore) async throws {
    let count =
      Bool.random(using: &random)
      ? Int.random(in: 0...2000, using: &random) : Int.random(in: 0...20_000, using: &random)
    let bytes = content(key: key, version: version, count: count)
    StoreDriver.say("storing \(key) \(version) \(count)")
    var write = ResponseStore.Write(
      accountID: account, key: RequestKey(target: "https://example.org/\(key)"), started: mark, status: 200,
      fields: ["ETag": "\"\(version)\""], receivedAt: version, body: .bytes(bytes))
    if Int.random(in: 0..<4, using: &random) == 0 {
      let partial = UnfinishedBody.Partial(
        key: write.key, url: write.key.target, strongETag: "\"\(version)\"", wholeLength: nil)
      let body = try await store.beginBody(accountID: account, partial: partial)
      for start in stride(from: 0, to: count, by: 1500) {
        try await body.append(Data(bytes[start..<min(start + 1500, count)]))
      }
      write.body = .unfinished(body)
    }
    guard case .stored = try await store.overwrite(write) else { return }
    StoreDriver.say("stored \(key) \(version) \(count)")
  }

  private func freshen(_ key: Int, _ store: ResponseStore) async throws {
    guard let row = try await store.lookup(RequestKey(target: "https://example.org/\(key)")).rows.first else {
      return
    }
    let head = ReceivedHead(status: 304, fields: row.fields, started: mark, receivedAt: version)
    _ = try await store.freshen(ResponseStore.Freshening(rowID: row.id, body: row.body, head: head))
  }
}
