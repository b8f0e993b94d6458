/// Where the store is and how large it may become.
public struct StoreConfiguration: Sendable {
  /// The database file. Its lock file, digest key and write-ahead log stand beside it.
  public var path: String
  /// Whether nothing may be written, not even a missing file; writes then fail with `readOnly`.
  public var isReadOnly = false
  /// Whether somebody else may have made the file, as an exported one that was sent: its tables are compared with this
  /// release's before anything is read, and no statement may take more steps than the file's size explains.
  public var isUntrusted = false
  /// How long a write, or an asynchronous look-up, waits for another process's lock.
  public var busyTimeout: Duration = .seconds(5)
  /// The size above which the least recently used rows go; a body over half of it is not kept. Of the limits, those
  /// that are set in the store itself win (``ResponseStore/setLimits(_:)``).
  public var maximumBytes: Int64 = 2 << 30
  /// The number of rows above which the least recently used go; `nil` for no limit. Each new row counts them, which
  /// takes some ten microseconds for a thousand.
  public var maximumRows: Int?
  /// How long ago a response may have been received; what is older goes with the housekeeping. `nil` for no limit.
  public var maximumAge: Duration?
  /// The size of a body's chunks; what a reader of a long body holds in memory at a time.
  public var chunkBytes = 256 << 10
  /// How long a cut-off download is kept so that it can be resumed.
  public var partialLifetime: Duration = .seconds(7 * 24 * 3600)
  /// How long a replaced long body is kept for those who are reading it.
  public var releasedLifetime: Duration = .seconds(600)
  /// Milliseconds since 1970-01-01 UTC; replaced by tests.
  package var now: @Sendable () -> Int64 = { Platform.wallMilliseconds() }
  /// Nanoseconds since boot, by the clock that start marks are taken from; replaced by tests.
  package var bootNow: @Sendable () -> Int64 = { Platform.bootNanoseconds() }

  /// The size of a page. Larger ones make the trees a level lower, so that a look-up among a million rows reads hardly
  /// more than among a thousand, and give a body fewer overflow pages; smaller ones make a commit shorter.
  static let usualPageBytes: Int64 = 8192
  /// The size of a new store's pages; other than the usual only where sizes are compared.
  package var pageBytes = Self.usualPageBytes
  /// The SQLite file system layer, for tests that inject faults.
  package var vfs: String?
  /// Called on one of the store's queues when something happened that a person should be told.
  public var onEvent: (@Sendable (StoreEvent) -> Void)?

  /// A store in that file.
  public init(path: String) { self.path = path }

  /// This program's own store, `PROGRAM/cachefetch/store.sqlite` in the user's cache directory: `$XDG_CACHE_HOME` or
  /// `~/.cache`, on Apple systems `~/Library/Caches`. PROGRAM is the bundle's identifier, else the name of the executable file.
  ///
  /// Programs that are to share a store name one path. Empty where there is no home folder: using such a store says so.
  public static func defaultPath() -> String { path(inCachesOf: Platform.programName() + "/cachefetch") }

  /// The store that the command `cachefetch` uses where none is named, `cachefetch/store.sqlite` in the same directory.
  package static func commandPath() -> String { path(inCachesOf: "cachefetch") }

  private static func path(inCachesOf folder: String) -> String {
    #if canImport(Darwin)
      let caches = Platform.homeFolder().map { $0 + "/Library/Caches" }
    #else
      let named = Platform.environment("XDG_CACHE_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
      let caches = named ?? Platform.homeFolder().map { $0 + "/.cache" }
    #endif
    return caches.map { "\($0)/\(folder)/store.sqlite" } ?? ""
  }
}

/// How large a store may become and how old what is in it: what is set in the store itself, so that every process on it
/// obeys the same, or what holds in the end.
public struct StoreLimits: Sendable, Hashable {
  /// The size of the file above which the least recently used rows go; a body over half of it is not kept.
  public var maximumBytes: Int64?
  /// The number of rows above which the least recently used go.
  public var maximumRows: Int?
  /// How long ago a response may have been received; what is older goes with the housekeeping.
  public var maximumAge: Duration?

  /// Limits; `nil` sets none.
  public init(maximumBytes: Int64? = nil, maximumRows: Int? = nil, maximumAge: Duration? = nil) {
    self.maximumBytes = maximumBytes
    self.maximumRows = maximumRows
    self.maximumAge = maximumAge
  }

  /// What a program brings along, where the store sets nothing.
  init(_ configuration: StoreConfiguration) {
    self.init(
      maximumBytes: configuration.maximumBytes, maximumRows: configuration.maximumRows,
      maximumAge: configuration.maximumAge)
  }

  /// These where they are set, else the others.
  func over(_ others: StoreLimits) -> StoreLimits {
    StoreLimits(
      maximumBytes: maximumBytes ?? others.maximumBytes, maximumRows: maximumRows ?? others.maximumRows,
      maximumAge: maximumAge ?? others.maximumAge)
  }
}
