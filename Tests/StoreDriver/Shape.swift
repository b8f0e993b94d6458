import CacheStore
import PlatformC
import PlatformFoundation

/// Measures the cost of a store with a given page and chunk size. Each process does one kind of work, so that each has
/// its own peak memory.
///
///     StoreDriver shape PATH PAGE CHUNK small|write|read
///
/// Prints lines of `name number`: processor time in nanoseconds for each operation, the file's bytes, the peak in KiB.
struct Shape {
  private static let rows = 1_000
  private static let rowBytes = 10_000
  private static let bodyBytes = 64 << 20
  private static let long = RequestKey(target: "https://example.org/long")

  private let path: String
  private let chunkBytes: Int
  private let kind: String
  private let store: ResponseStore

  init(_ arguments: [String]) {
    path = arguments[1]
    chunkBytes = Int(arguments[3]) ?? 0
    kind = arguments[4]
    var configuration = StoreConfiguration(path: path)
    configuration.pageBytes = Int64(arguments[2]) ?? 0
    configuration.chunkBytes = chunkBytes
    store = ResponseStore(configuration: configuration)
  }

  func run() async throws {
    let account = try await store.accountID(named: "")
    switch kind {
    case "small": try await small(account)
    case "write": try await write(account)
    default: try await read()
    }
    await store.close()
    StoreDriver.say("peak_kib \(Self.peak())")
    var status = stat()
    if stat(path, &status) == 0 { StoreDriver.say("file_bytes \(status.st_size)") }
  }

  private func small(_ account: Int64) async throws {
    var body = Data(repeating: 7, count: Self.rowBytes)
    func overwrite(_ number: Int, _ instant: Int) async throws {
      body[0] = UInt8(truncatingIfNeeded: instant)
      let write = ResponseStore.Write(
        accountID: account, key: Self.key(number),
        started: StartMark(boot: "boot-1", nanoseconds: Int64(instant)),
        status: 200, fields: ["Content-Type": "text/plain"], receivedAt: Int64(instant), body: .bytes(body))
      guard case .stored = try await store.overwrite(write) else { throw Failed.notStored }
    }
    for number in 0..<Self.rows { try await overwrite(number, 1) }
    await store.performMaintenance(budget: .seconds(60))
    var spent: [Int64] = []
    for instant in 2..<1_002 {
      let begun = Self.processorTime()
      try await overwrite(instant * 7 % Self.rows, instant)
      spent.append(Self.processorTime() - begun)
    }
    StoreDriver.say("overwrite \(Self.median(spent))")
    await store.performMaintenance(budget: .seconds(60))
    spent = []
    for number in 0..<10_000 {
      let begun = Self.processorTime()
      guard try store.lookupNow(Self.key(number * 7 % Self.rows)).rows.count == 1 else {
        throw Failed.notFound
      }
      spent.append(Self.processorTime() - begun)
    }
    StoreDriver.say("look \(Self.median(spent))")
  }

  private func write(_ account: Int64) async throws {
    let begun = Self.processorTime()
    let clock = ContinuousClock.now
    let body = try await store.beginBody(accountID: account)
    for start in stride(from: 0, to: Self.bodyBytes, by: chunkBytes) {
      let piece = Data(
        repeating: UInt8(truncatingIfNeeded: start / chunkBytes),
        count: min(chunkBytes, Self.bodyBytes - start))
      try await body.append(piece)
    }
    let write = ResponseStore.Write(
      accountID: account, key: Self.long, started: StartMark(boot: "boot-1", nanoseconds: 1), status: 200,
      fields: [:], receivedAt: 1, body: .unfinished(body))
    guard case .stored = try await store.overwrite(write) else { throw Failed.notStored }
    StoreDriver.say("write \(Self.processorTime() - begun)")
    StoreDriver.say("write_elapsed \((ContinuousClock.now - clock) / .nanoseconds(1))")
  }

  private func read() async throws {
    let begun = Self.processorTime()
    guard let row = try store.lookupNow(Self.long).rows.first else { throw Failed.notFound }
    var length = row.body.firstChunk.count
    var number = 1
    while length < row.body.length {
      length += try await store.chunk(number, of: row.body.id).count
      number += 1
    }
    guard length == Self.bodyBytes else { throw Failed.notFound }
    StoreDriver.say("read \(Self.processorTime() - begun)")
  }

  private enum Failed: Error { case notStored, notFound }

  private static func key(_ number: Int) -> RequestKey {
    RequestKey(target: "https://example.org/item/\(number)")
  }

  private static func median(_ values: [Int64]) -> Int64 { values.sorted()[values.count / 2] }

  /// Of all threads. On a busy machine it is a better measure than elapsed time.
  private static func processorTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  private static func peak() -> Int {
    var usage = rusage()
    getrusage(__rusage_who_t(0), &usage)
    return usage.ru_maxrss
  }
}
