/// A failure reported by the store.
public struct CacheStoreError: Error, Hashable {
  /// The distinctions a caller can act on.
  public enum Reason: Hashable, Sendable {
    /// The file, or the part of it that was asked for, is damaged.
    case corrupt
    /// Another process or connection holds a lock, and the waiting time is over.
    case busy
    /// The disk, or the store's own limit, is full.
    case full
    /// The file or its folder may not be written.
    case readOnly
    /// The file cannot be opened: no such folder, no permission, a folder in its place.
    case cannotOpen
    /// A newer release wrote this file.
    case newerSchema(found: Int)
    /// A store, but with other tables than this release makes; of files that somebody else may have made only.
    case otherSchema
    /// A database, but not one of this program's; or not a database.
    case foreignFile
    /// The account was signed out after the exchange began.
    case signedOut
    /// The body was replaced and its ten minutes are over.
    case replaced
    /// What was written before is gone, with the file or without it: somebody removed the store while it was in use.
    case missing
    /// The file system has no locks, by which processes take turns.
    case cannotLock
    /// The store was closed.
    case closed
    /// Everything else: input/output errors, a missing table.
    case other
  }

  /// What happened, in terms a caller can switch over.
  public let reason: Reason
  /// One line for a person, naming the file where one is concerned and never a bound value.
  public let message: String
  /// What a person can do about it; `nil` where nothing is known to help.
  public let remedy: Remedy?
  /// The extended SQLite result code, for logs; 0 where SQLite was not involved.
  public let sqliteCode: Int32
  /// The failing statement without its bound values, so that it is safe to log.
  public let sql: String?

  /// The remedy's words, which hold in every program.
  public var hint: String? { remedy?.text }

  /// Makes an error.
  ///
  /// - Parameter hint: What helps, where more is known than the reason.
  public init(
    _ reason: Reason, _ message: String, hint: String? = nil, sqliteCode: Int32 = 0, sql: String? = nil
  ) {
    self.init(
      reason, message, remedy: hint.map { Remedy($0) }, sqliteCode: sqliteCode, sql: sql)
  }

  package init(
    _ reason: Reason, _ message: String, remedy: Remedy?, sqliteCode: Int32 = 0, sql: String? = nil
  ) {
    self.reason = reason
    self.message = message
    self.remedy =
      remedy ?? (message.hasSuffix(Platform.noDescriptors) ? .descriptors : Self.remedy(for: reason))
    self.sqliteCode = sqliteCode
    self.sql = sql
  }

  /// Whether no file could be opened any more: nothing is wrong with the store.
  var isOfDescriptors: Bool { remedy == .descriptors }

  /// What helps where nothing more is known than the reason.
  private static func remedy(for reason: Reason) -> Remedy? {
    switch reason {
    case .busy: .tryAgain
    case .full: .freeSpace
    case .readOnly, .cannotOpen: .writableStore
    case .newerSchema: .newerRelease
    case .otherSchema:
      "it was left alone: another release made it, or somebody who wants to harm; name another file"
    case .foreignFile: .otherFile
    case .corrupt: .repair
    case .replaced: "fetch it again"
    case .missing: "it is made anew; load again"
    case .signedOut, .cannotLock, .closed, .other: nil
    }
  }
}
