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
  /// What a person can do about it, in a line of its own; `nil` where nothing is known to help.
  public let hint: String?
  /// The extended SQLite result code, for logs; 0 where SQLite was not involved.
  public let sqliteCode: Int32
  /// The failing statement without its bound values, so that it is safe to log.
  public let sql: String?

  /// Makes an error.
  public init(
    _ reason: Reason, _ message: String, hint: String? = nil, sqliteCode: Int32 = 0, sql: String? = nil
  ) {
    self.reason = reason
    self.message = message
    self.hint =
      hint ?? (message.hasSuffix(Platform.noDescriptors) ? Self.descriptorHint : Self.hint(for: reason))
    self.sqliteCode = sqliteCode
    self.sql = sql
  }

  /// What helps where no file can be opened any more, whatever it was to be.
  package static let descriptorHint = "raise the limit (ulimit -n)"

  /// Whether no file could be opened any more: nothing is wrong with the store.
  var isOfDescriptors: Bool { hint == Self.descriptorHint }

  /// What helps where nothing more is known than the reason.
  private static func hint(for reason: Reason) -> String? {
    switch reason {
    case .busy: "try again"
    case .full: "free some disk space, or name another store with --store PATH"
    case .readOnly, .cannotOpen: "name a store you may write to with --store PATH or $CACHEFETCH_STORE"
    case .newerSchema: "it was left alone: update cachefetch, or name another store with --store PATH"
    case .otherSchema:
      "it was left alone: another release made it, or somebody who wants to harm; name another file"
    case .foreignFile: "it was left alone: name another with --store PATH"
    case .corrupt: "run “cachefetch doctor --repair”"
    case .replaced: "fetch it again"
    case .missing: "it is made anew; load again"
    case .signedOut, .cannotLock, .closed, .other: nil
    }
  }
}
