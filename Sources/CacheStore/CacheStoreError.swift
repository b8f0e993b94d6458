/// A failure reported by the store.
package struct CacheStoreError: Error, Hashable {
  /// The distinctions a caller can act on.
  package enum Reason: Hashable, Sendable {
    /// The file, or the requested part of it, is damaged.
    case corrupt
    /// Another process or connection holds a lock, and the timeout has passed.
    case busy
    /// The disk, or the store's own limit, is full.
    case full
    /// The file or its folder may not be written.
    case readOnly
    /// The file cannot be opened: no such folder, no permission, a folder in its place.
    case cannotOpen
    /// A newer release wrote this file.
    case newerSchema(found: Int)
    /// An earlier revision of the schema is in this file. Where it may be written, a release's is brought up to date, and
    /// one before the first release is begun anew.
    case earlierSchema(isOfRelease: Bool)
    /// An untrusted file has other tables than this release creates, or takes too many steps to read.
    case otherSchema
    /// The file is another program's database, or no database.
    case foreignFile
    /// The account was signed out after the exchange began.
    case signedOut
    /// The body was replaced and is no longer kept for its readers.
    case replaced
    /// The store was removed while it was in use, and what was written before is gone.
    case missing
    /// The file system has no locks, without which processes cannot take turns.
    case cannotLock
    /// The store was closed.
    case closed
    /// Everything else: input/output errors, a missing table.
    case other
  }

  /// The cause, for a caller to switch over.
  package let reason: Reason
  /// One line for a person; it names the file concerned, and never a bound value.
  package let message: String
  /// What a person can do about it; `nil` where nothing is known to help.
  package let remedy: Remedy?
  /// The extended SQLite result code, for logs; 0 where SQLite was not involved.
  package let sqliteCode: Int32
  /// The failing statement without its bound values, so that it is safe to log.
  package let sql: String?

  /// The remedy's text, which fits every program.
  package var hint: String? { remedy?.text }

  /// Makes an error.
  ///
  /// - Parameter hint: What helps, where the reason alone does not say it.
  package init(
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

  /// The error with the URL of the response before its message, where it keeps that response alone from being stored:
  /// the body is too large, or all variants of the request are pinned.
  package func storing(_ url: String) -> CacheStoreError {
    guard remedy?.code == .largerStore || remedy?.code == .removeThem else { return self }
    return CacheStoreError(reason, "\(url): \(message)", remedy: remedy, sqliteCode: sqliteCode, sql: sql)
  }

  /// Whether the asynchronous forms may succeed where a synchronous one failed so: they wait for other processes, and
  /// for a file that is replaced.
  package var mayPass: Bool { [.busy, .corrupt].contains(reason) || isOfEarlierRevision }

  /// Whether the file has an earlier revision of the schema.
  var isOfEarlierRevision: Bool { if case .earlierSchema = reason { true } else { false } }

  /// Whether the limit of open files was the cause: nothing is wrong with the store.
  var isOfDescriptors: Bool { remedy == .descriptors }

  /// The remedy where only the reason is known.
  private static func remedy(for reason: Reason) -> Remedy? {
    switch reason {
    case .busy: .tryAgain
    case .full: .freeSpace
    case .readOnly, .cannotOpen: .writableStore
    case .newerSchema: .newerRelease
    case .earlierSchema(isOfRelease: true): "it is brought up to date by the next command that may write it"
    case .earlierSchema: "it is begun anew by the next command that may write it"
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
