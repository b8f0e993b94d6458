import CFaultVFS
import CacheStore
import PlatformC
import PlatformFoundation
import TestSupport

/// Works on a store in a separate process, for tests that kill it or run many side by side.
///
///     StoreDriver open PATH
///     StoreDriver work PATH SEED FIRST OPERATIONS [KINDS NTH]
///     StoreDriver share PATH SEED SECONDS BYTES ROWS
///     StoreDriver read PATH TARGET
///     StoreDriver overwrite PATH TARGET
///     StoreDriver hold PATH exclusive|reading|writing|locks|index
///     StoreDriver long PATH TARGET
///     StoreDriver fill PATH
///     StoreDriver disk PATH ORIGIN
///     StoreDriver leave PATH PORT
///     StoreDriver shape PATH PAGE CHUNK small|write|read
@main enum StoreDriver {
  static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      switch arguments.first {
      case "open": try await open(arguments[1])
      case "work":
        var worker = Worker(arguments)
        try await worker.run()
      case "share":
        var sharer = Sharer(arguments)
        try await sharer.run()
      case "read": try await read(arguments[1], arguments[2])
      case "hold": try hold(arguments[1], arguments[2])
      case "fill": try await fill(arguments[1])
      case "disk": try await Disk(arguments).run()
      case "overwrite": try await overwrite(arguments[1], arguments[2])
      case "leave": try await Leave(arguments).run()
      case "shape": try await Shape(arguments).run()
      default: exit(64)
      }
    } catch {
      say("error \(error)")
      exit(1)
    }
  }

  /// Opens the store for writing, as the first of many processes may.
  private static func open(_ path: String) async throws {
    let store = ResponseStore(configuration: .unhurried(path: path))
    say("account \(try await store.accountID(named: ""))")
    await store.close()
  }

  /// Overwrites one row repeatedly, with distinguishable versions, until its input ends.
  private static func overwrite(_ path: String, _ target: String) async throws {
    var configuration = StoreConfiguration.unhurried(path: path)
    configuration.chunkBytes = 1000
    let store = ResponseStore(configuration: configuration)
    let account = try await store.accountID(named: "")
    var input = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
    var version: Int64 = 0
    while poll(&input, 1, 0) == 0 {
      version += 1
      let value = UInt8(truncatingIfNeeded: version)
      let write = ResponseStore.Write(
        accountID: account, key: RequestKey(target: target),
        started: StartMark(boot: "boot-1", nanoseconds: version), status: 200,
        fields: ["X-Version": "\(value)"], receivedAt: 1,
        body: .bytes(Data(repeating: value, count: value % 2 == 1 ? 3000 : 700)))
      guard case .stored = try await store.overwrite(write) else { throw NotStored() }
      if version == 1 { say("writing") }
    }
    await store.close()
  }

  private struct NotStored: Error {}

  /// Looks a target up, keeps the connection open, and waits for a line before it ends.
  private static func read(_ path: String, _ target: String) async throws {
    let store = ResponseStore(configuration: .unhurried(path: path))
    let found = try await store.lookup(RequestKey(account: "alice", target: target))
    say("rows \(found.rows.count)")
    while let line = readLine() {
      switch line {
      case "look":
        say("rows \(try await store.lookup(RequestKey(account: "alice", target: target)).rows.count)")
      case "store":
        let write = ResponseStore.Write(
          accountID: found.accountID ?? 0, key: RequestKey(account: "alice", target: target),
          started: StartMark(boot: "boot-1", nanoseconds: .max), status: 200, fields: [:], receivedAt: 1,
          body: .bytes(Data("late".utf8)))
        do {
          _ = try await store.overwrite(write)
          say("stored")
        } catch { say("refused \((error as CacheStoreError).reason)") }
      default: return
      }
    }
  }

  /// Fills the store's disk, then removes entries, signs out and stores again.
  private static func fill(_ path: String) async throws {
    let store = ResponseStore(configuration: .unhurried(path: path))
    let accounts = [try await store.accountID(named: "alice"), try await store.accountID(named: "bob")]
    func put(_ number: Int) async throws {
      let key = RequestKey(account: ["alice", "bob"][number % 2], target: "https://example.org/\(number)")
      let write = ResponseStore.Write(
        accountID: accounts[number % 2], key: key,
        started: StartMark(boot: "boot-1", nanoseconds: Int64(number)), status: 200, fields: [:],
        receivedAt: 1,
        body: .bytes(content(key: number, version: 1, count: [500, 30_000, 400_000][number % 3])))
      _ = try await store.overwrite(write)
    }
    var number = 0
    var refused = 0
    // Small rows still fit when large ones no longer do.
    while refused < 20, number < 10_000 {
      number += 1
      do { try await put(number) } catch {
        guard (error as? CacheStoreError)?.reason == .full else { throw error }
        refused += 1
      }
    }
    say("full after \(number - refused)")
    // A file beside the store takes the rest of the disk.
    let filler = PlatformC.open(path + "-filler", O_WRONLY | O_CREAT, 0o600)
    let block = [UInt8](repeating: 1, count: 4096)
    var free = 0
    while free < 256 {
      guard PlatformC.write(filler, block, block.count) == block.count else { break }
      free += 1
    }
    var selection = EntrySelection.all
    selection.prefix = "https://example.org/1"
    say(
      try await store.remove(selection, started: StartMark(boot: "boot-1", nanoseconds: .max)) > 0
        ? "removed" : "nothing")
    try await store.signOut(accountName: "alice")
    say("signed out")
    try await put(1)
    say("stored again")
    await store.close()
    say(try RawDatabase(path).rows("PRAGMA integrity_check").first?.first == "ok" ? "ok" : "damaged")
  }

  /// Holds the database as another program might, reports that, and releases it when it reads a line.
  private static func hold(_ path: String, _ how: String) throws {
    var database: RawDatabase? = try RawDatabase(path)
    switch how {
    case "locks": for file in [".lock", "", "-shm"] { lock(path + file) }
    case "index": lock(path + "-shm")
    case "exclusive":
      // In WAL mode readers ignore BEGIN EXCLUSIVE; exclusive locking mode keeps them out.
      try database?.execute(
        "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; UPDATE account SET name = name; COMMIT")
    case "reading": try database?.execute("BEGIN; SELECT count(*) FROM last_request")
    default: try database?.execute("BEGIN IMMEDIATE")
    }
    say("holding")
    guard readLine() != nil else { return }
    database = nil
    say("released")
    // The process stays alive until its input ends, so that tests can see it.
    while readLine() != nil {}
  }

  /// Locks a whole file, for as long as the process lives.
  private static func lock(_ path: String) {
    var range = flock()
    range.l_type = Int16(F_WRLCK)
    range.l_whence = Int16(SEEK_SET)
    let isLocked = fcntl(PlatformC.open(path, O_RDWR), F_OFD_SETLK, &range) == 0
    if !isLocked { say("cannot lock \(path)") }
  }

  /// Writes one line to standard output, unbuffered.
  static func say(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    _ = write(1, bytes, bytes.count)
  }
}

/// The content of one version of a key; the test computes it too.
func content(key: Int, version: Int64, count: Int) -> Data {
  var generator = SeededGenerator(seed: UInt64(key) << 40 ^ UInt64(bitPattern: version))
  return Data(generator.bytes(count))
}
