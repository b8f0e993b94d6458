@testable import CacheStore
import PlatformFoundation
import TestSupport

/// A store in a fresh folder that goes with this object; several may be opened on the same file.
final class StoreFixture: Sendable {
  let files: TemporaryFolder
  let store: ResponseStore

  /// Without a time limit on locks that a busy machine could come to.
  init(_ configure: (inout StoreConfiguration) -> Void = { _ in }) throws {
    files = try TemporaryFolder()
    var configuration = StoreConfiguration.unhurried(path: files.file("store.sqlite"))
    configure(&configuration)
    store = ResponseStore(configuration: configuration)
  }

  var folder: String { files.path }
  var path: String { store.configuration.path }

  /// Another store object on the same file, as another process would have.
  func another(_ configure: (inout StoreConfiguration) -> Void = { _ in }) -> ResponseStore {
    var configuration = store.configuration
    configure(&configuration)
    return ResponseStore(configuration: configuration)
  }

  /// Rows read, or statements run, by a connection of its own.
  @discardableResult func sql(_ text: String) throws -> [[SQLiteValue]] {
    let database = try RawDatabase(path)
    guard text.hasPrefix("SELECT") || text.hasPrefix("PRAGMA") && !text.contains(";") else {
      try database.execute(text)
      return []
    }
    return try database.rows(text)
  }

  /// The first value of the first row.
  func number(_ text: String) throws -> Int64? { try sql(text).first?.first?.integer }

  /// Removes the store, as a person does, or the system that empties a folder of caches.
  func remove() throws {
    for name in try files.names() { try FileManager.default.removeItem(atPath: files.file(name)) }
  }

  /// Changes one bit of a closed store's file where an index of few entries has a text: in the text's last byte, or in
  /// the byte before the text, which is the end of the value before it. The entry then leads nowhere.
  func spoil(_ text: String, in index: String, isBefore: Bool = false) throws {
    try sql("PRAGMA wal_checkpoint(TRUNCATE)")
    let pages = try sql("SELECT rootpage FROM sqlite_schema WHERE name = '\(index)'")
    let bytesOfPage = Int(try number("PRAGMA page_size") ?? 0)
    guard let page = pages.first?.first?.integer.map({ Int($0) }) else { throw NotThere(text: index) }
    let bytes = try files.bytes(of: "store.sqlite")
    let found = bytes[((page - 1) * bytesOfPage)..<(page * bytesOfPage)].firstRange(of: Array(text.utf8))
    guard let found else { throw NotThere(text: text) }
    let place = isBefore ? found.lowerBound - 1 : found.upperBound - 1
    try files.overwrite("store.sqlite", at: place, with: [bytes[place] ^ 1])
  }

  /// Makes the index of a store's rows unreadable: the file is damaged, and every row is whole.
  func spoilIndex() throws {
    let index = "sqlite_autoindex_last_request_1"
    let root = try number("SELECT rootpage FROM sqlite_schema WHERE name = '\(index)'")
    let bytesOfPage = Int(try number("PRAGMA page_size") ?? 0)
    guard let root else { throw NotThere(text: index) }
    try files.overwrite(
      "store.sqlite", at: Int(root - 1) * bytesOfPage, with: Array(repeating: 0xFF, count: bytesOfPage))
  }

  struct NotThere: Error { let text: String }

  /// What nobody needs and nothing will ever collect: bodies without a row that are not being received and cannot be
  /// resumed, and chunks without a body. Released bodies count once their readers have had their time, that is, after
  /// housekeeping.
  func remains() throws -> Int64 {
    let bodies = try number(
      """
      SELECT count(*) FROM body WHERE partial_target IS NULL AND id NOT IN (SELECT body_id FROM last_request)
      """)
    let chunks = try number("SELECT count(*) FROM chunk WHERE id >> 20 NOT IN (SELECT id FROM body)")
    return (bodies ?? 0) + (chunks ?? 0)
  }
}

extension ResponseStore.Overwritten {
  /// The row and its body; `nil` where a later exchange's row stands.
  var row: (rowID: Int64, body: StoredResponse.Body)? {
    if case .stored(let rowID, let body) = self { (rowID, body) } else { nil }
  }
}

extension Result {
  /// Why it failed, where it did.
  var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

/// Shorthands for what tests store.
extension ResponseStore {
  static let boot = "boot-1"

  /// Returns once nothing of what was queued is under way. Whoever awaits a write goes on while the queue still holds the
  /// connection, which a write on the calling thread needs.
  func whenIdle() async {
    await withCheckedContinuation { continuation in
      writer.afterQueuedWork { continuation.resume() }
    }
  }

  func put(
    _ text: String, for key: RequestKey, at instant: Int64 = 1, accountID: Int64? = nil,
    _ change: (inout Write) -> Void = { _ in }
  ) async throws -> Overwritten {
    try await put(Data(text.utf8), for: key, at: instant, accountID: accountID, change)
  }

  func put(
    _ bytes: Data, for key: RequestKey, at instant: Int64 = 1, accountID: Int64? = nil,
    _ change: (inout Write) -> Void = { _ in }
  ) async throws -> Overwritten {
    let account: Int64
    if let accountID { account = accountID } else { account = try await self.accountID(named: key.account) }
    return try await overwrite(write(bytes, for: key, at: instant, accountID: account, change))
  }

  func write(
    _ bytes: Data, for key: RequestKey, at instant: Int64, accountID: Int64,
    _ change: (inout Write) -> Void = { _ in }
  ) -> Write {
    var write = Write(
      accountID: accountID, key: key, started: StartMark(boot: Self.boot, nanoseconds: instant), status: 200,
      fields: ["Content-Type": "text/plain", "ETag": "\"\(instant)\""], receivedAt: 1_000_000 + instant,
      body: .bytes(bytes))
    change(&write)
    return write
  }

  /// The whole body of the only row of a key.
  func body(of key: RequestKey) async throws -> String? {
    let rows = try await lookup(key).rows
    guard let row = rows.first else { return nil }
    return String(decoding: try await wholeBody(row), as: UTF8.self)
  }

  func wholeBody(_ row: StoredResponse) async throws -> Data {
    var bytes = row.body.firstChunk
    var number = 1
    while bytes.count < row.body.length {
      bytes += try await chunk(number, of: row.body.id, accountID: row.accountID)
      number += 1
    }
    return bytes
  }
}

extension RequestKey {
  static let page = RequestKey(target: "https://example.org/page")
}

extension StartMark {
  static func at(_ nanoseconds: Int64) -> StartMark {
    StartMark(boot: ResponseStore.boot, nanoseconds: nanoseconds)
  }
}

/// Bytes that are not all alike, so that a chunk in the wrong place is seen.
func pattern(_ count: Int, seed: UInt8 = 0) -> Data {
  Data(distinctBytes(count, seed: UInt64(seed)))
}
