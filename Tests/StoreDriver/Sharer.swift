import CacheStore
import PlatformFoundation
import TestSupport

/// One of several processes that use a store at once: reads, overwrites, freshens, long bodies, removals, housekeeping.
struct Sharer {
  private let path: String
  private var random: SeededGenerator
  private let seconds: Int64
  private let limit: Int64
  private let rows: Int?
  private var counts: [String: Int] = [:]

  init(_ arguments: [String]) {
    path = arguments[1]
    random = SeededGenerator(seed: UInt64(arguments[2]) ?? 0)
    seconds = Int64(arguments[3]) ?? 1
    limit = Int64(arguments[4]) ?? 0
    rows = Int(arguments[5]).flatMap { $0 > 0 ? $0 : nil }
  }

  mutating func run() async throws {
    // A long run is to show the usual time-out too.
    var configuration =
      seconds < 30 ? StoreConfiguration.unhurried(path: path) : StoreConfiguration(path: path)
    configuration.maximumBytes = limit
    configuration.maximumRows = rows
    configuration.chunkBytes = 64 << 10
    let store = ResponseStore(configuration: configuration)
    let account = try await store.accountID(named: "")
    let clock = ContinuousClock()
    let start = clock.now
    // Once at least, however long the machine has let it wait.
    repeat {
      for _ in 0..<20 { try await step(store, account) }
      await store.performMaintenance(budget: .milliseconds(20))
    } while clock.now - start < .seconds(seconds)
    await store.close()
    StoreDriver.say(counts.map { "\($0)=\($1)" }.sorted().joined(separator: " "))
  }

  private mutating func step(_ store: ResponseStore, _ account: Int64) async throws {
    // Far more keys than fit, so that eviction runs all the time, and a few that all processes contend for.
    let number =
      Int.random(in: 0..<4, using: &random) == 0
      ? Int.random(in: 0..<8, using: &random) : Int.random(in: 0..<5_000, using: &random)
    let key = RequestKey(target: "https://example.org/\(number)")
    let kind = Int.random(in: 0..<100, using: &random)
    do {
      switch kind {
      case ..<50: try await read(key, number, store)
      case ..<85:
        try await overwrite(key, number, count: Int.random(in: 100...20_000, using: &random), store, account)
      case ..<87: try await overwrite(key, number, count: 300_000, store, account)
      case ..<97: try await freshen(key, store)
      default:
        var selection = EntrySelection.all
        selection.prefix = key.target
        _ = try await store.remove(selection, started: Self.mark())
      }
      counts["done", default: 0] += 1
    } catch let error as CacheStoreError {
      counts["\(error.reason)", default: 0] += 1
      if error.reason != .busy, error.reason != .replaced {
        StoreDriver.say("error \(error.message) \(error.sql ?? "")")
      }
    }
  }

  private static func mark() -> StartMark {
    StartMark(boot: "boot-1", nanoseconds: TestClockReading.sinceBoot())
  }

  /// A body's first bytes tell when its exchange began; readers compare that with the row.
  private mutating func overwrite(
    _ key: RequestKey, _ number: Int, count: Int, _ store: ResponseStore, _ account: Int64
  ) async throws {
    let mark = Self.mark()
    var bytes = Data(repeating: UInt8(truncatingIfNeeded: mark.nanoseconds), count: count)
    withUnsafeBytes(of: mark.nanoseconds) { bytes.replaceSubrange(0..<8, with: $0) }
    let write = ResponseStore.Write(
      accountID: account, key: key, started: mark, status: 200, fields: ["ETag": "\"\(mark.nanoseconds)\""],
      receivedAt: mark.nanoseconds / 1_000_000, body: .bytes(bytes))
    counts["written", default: 0] += 1
    guard case .stored(let rowID, _) = try await store.overwrite(write) else {
      counts["superseded", default: 0] += 1
      return
    }
    // Law 8: the present row's exchange began no earlier than that of the row just stored. If that row was evicted
    // meanwhile, a new one has another ID and is not checked.
    if let row = try await store.lookup(key).rows.first, row.id == rowID,
      row.started.nanoseconds < mark.nanoseconds
    {
      counts["older", default: 0] += 1
    }
  }

  private mutating func read(_ key: RequestKey, _ number: Int, _ store: ResponseStore) async throws {
    let found = try await store.lookup(key)
    if found.damaged > 0 { counts["damaged", default: 0] += 1 }
    guard let row = found.rows.first else { return }
    store.markUsed(rowID: row.id, atMilliseconds: TestClockReading.sinceBoot() / 1_000_000)
    var bytes = row.body.firstChunk
    var chunk = 1
    while bytes.count < row.body.length {
      bytes += try await store.chunk(chunk, of: row.body.id)
      chunk += 1
    }
    let written = bytes.prefix(8).withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
    let isWhole = bytes.dropFirst(8).allSatisfy { $0 == UInt8(truncatingIfNeeded: written) }
    if !isWhole || written > row.started.nanoseconds { counts["wrong", default: 0] += 1 }
  }

  private func freshen(_ key: RequestKey, _ store: ResponseStore) async throws {
    guard let row = try await store.lookup(key).rows.first else { return }
    let head = ReceivedHead(
      status: 304, fields: row.fields, started: Self.mark(), requestedAt: 1, receivedAt: row.receivedAt)
    _ = try await store.freshen(ResponseStore.Freshening(rowID: row.id, body: row.body, head: head))
  }
}
