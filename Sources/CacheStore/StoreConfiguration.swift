internal import PlatformC
package import PlatformFoundation

/// Where the store is and how large it may become.
public struct StoreConfiguration: Sendable {
  /// The database file. Its lock file, digest key and write-ahead log stand beside it.
  public var path: String
  /// Whether the store may only be read: no file is created, what loads receive is not kept (`Kept.no(.readOnly)`), and
  /// operations that write fail with the kind `store`.
  public var isReadOnly = false
  /// Whether the file is untrusted, such as an exported store that was received: its tables are compared with this
  /// release's before anything is read, and no statement may take more steps than the file's size explains.
  package var isUntrusted = false
  /// Whether the file is another user's, at which the administrator looks: not a byte is written, not even to the index
  /// of the log. Only with `isReadOnly`.
  package var isForeign = false
  /// How long a write, or an asynchronous lookup, waits for another process's lock.
  public var busyTimeout: Duration = .seconds(5)
  /// The size above which the least recently used rows are evicted; a body over half of it is not stored. Limits set
  /// in the store itself take precedence (`DataService.setLimits(_:)`).
  public var maximumBytes: Int64 = 2 << 30
  /// The number of rows above which the least recently used are evicted; `nil` for no limit. Each new row counts
  /// them, which takes some ten microseconds for a thousand.
  public var maximumRows: Int?
  /// The age, since it was received, above which a response is neither delivered nor listed unless it is pinned, and
  /// maintenance removes it; `nil` for no limit.
  public var maximumAge: Duration?
  /// The size of a body's chunks in bytes: what a reader of a long body holds in memory at a time.
  package var chunkBytes = 256 << 10
  /// How long a cut-off download is kept so that it can be resumed.
  package var partialLifetime: Duration = .seconds(7 * 24 * 3600)
  /// Milliseconds since 1970-01-01 UTC; replaced by tests.
  package var now: @Sendable () -> Int64 = { Platform.wallMilliseconds() }
  /// Nanoseconds since boot, by the clock that start marks are taken from; replaced by tests.
  package var bootNow: @Sendable () -> Int64 = { Platform.bootNanoseconds() }

  /// The page size in bytes. Larger pages lower the B-trees by a level, so that a lookup among a million rows reads
  /// hardly more than among a thousand, and give a body fewer overflow pages; smaller pages shorten a commit.
  static let usualPageBytes: Int64 = 8192
  /// The page size of a new store; changed only to compare sizes.
  package var pageBytes = Self.usualPageBytes
  /// Called with the body, or its first chunk, of each row that an exchange hands over to be stored or confirmed; for tests.
  package var onWrite: (@Sendable (Data) -> Void)?
  /// The SQLite VFS, for tests that inject faults.
  package var vfs: String?
  /// Called on one of the store's queues with an event that a person should know of.
  public var onEvent: (@Sendable (StoreEvent) -> Void)?

  /// A configuration for the store in that file.
  public init(path: String) { self.path = path }

  /// This program's own store, `PROGRAM/cachefetch/store.sqlite` in the user's cache directory: `$XDG_CACHE_HOME` or
  /// `~/.cache`, on Apple systems `~/Library/Caches`. PROGRAM is the bundle's identifier, else the name of the
  /// executable file.
  ///
  /// Programs that share a store name one path. Empty where there is no home folder; using such a store fails with a
  /// message that says so.
  public static func defaultPath() -> String { path(inCachesOf: Platform.programName() + "/cachefetch") }

  /// The store that the command `cachefetch` uses where none is named, `cachefetch/store.sqlite` in the same directory.
  package static func commandPath() -> String { path(inCachesOf: "cachefetch") }

  private static func path(inCachesOf folder: String) -> String {
    let named = cachesVariable.flatMap(Platform.environment).flatMap { $0.hasPrefix("/") ? $0 : nil }
    let caches = named ?? Platform.homeFolder().map { $0 + cachesInHome }
    return caches.map { "\($0)/\(folder)/store.sqlite" } ?? ""
  }
}

/// Limits of a store's size, rows and age: those set in the store itself, which every process obeys, or those in
/// force.
public struct StoreLimits: Sendable, Hashable {
  /// The size of the file above which the least recently used rows are evicted; a body over half of it is not stored.
  public var maximumBytes: Int64?
  /// The number of rows above which the least recently used are evicted.
  public var maximumRows: Int?
  /// The age, since it was received, above which maintenance removes a response.
  public var maximumAge: Duration?

  /// Limits; `nil` sets none.
  public init(maximumBytes: Int64? = nil, maximumRows: Int? = nil, maximumAge: Duration? = nil) {
    self.maximumBytes = maximumBytes
    self.maximumRows = maximumRows
    self.maximumAge = maximumAge
  }

  /// The program's own limits, for those that the store does not set.
  init(_ configuration: StoreConfiguration) {
    self.init(
      maximumBytes: configuration.maximumBytes, maximumRows: configuration.maximumRows,
      maximumAge: configuration.maximumAge)
  }

  /// These limits where they are set, else the others.
  func over(_ others: StoreLimits) -> StoreLimits {
    StoreLimits(
      maximumBytes: maximumBytes ?? others.maximumBytes, maximumRows: maximumRows ?? others.maximumRows,
      maximumAge: maximumAge ?? others.maximumAge)
  }
}
