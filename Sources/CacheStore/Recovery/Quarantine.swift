internal import PlatformC

/// Replaces a damaged store with a new one that holds every row that can still be read; keeps the damaged file under
/// a dated name. A store of an earlier release is brought up to date, and one before the first release is removed.
struct Quarantine {
  let files: StoreFiles
  let lockFile: LockFile
  let configuration: StoreConfiguration

  /// Checks the file again, holding the lock, and replaces it where it is damaged.
  ///
  /// - Parameter tell: Told of a file that was replaced.
  /// - Returns: Whether the file of that name may be another now, replaced by this or another process.
  func run(waitingUntil deadline: Int64, _ tell: (StoreEvent) -> Void = { _ in }) throws(CacheStoreError)
    -> Bool
  {
    let aside = QuarantinedFiles(files: files)
    switch try files.presence() {
    // The lock below waits for a repair that is under way.
    case .betweenRenames: break
    // First without the lock: no lock file may be placed beside a file that is not a store.
    case .there, .missing:
      guard let condition = try currentCondition(waitingUntil: deadline) else { return true }
      guard condition != .sound, condition != .notOurs else { return false }
    }
    let left = max(0, deadline - Platform.monotonicNanoseconds())
    try lockFile.lock(.file, within: .nanoseconds(left))
    defer { lockFile.unlock(.file) }
    try aside.finishExchange()
    guard try files.checkedStatus() != nil else { return true }
    let condition = try DamageCheck.condition(of: files, waitingUntil: deadline)
    if condition == .earlier(isOfRelease: true) { try migrate(waitingUntil: deadline) }
    if condition == .earlier(isOfRelease: false) { try removeEarlier(tell) }
    guard condition == .damaged else { return true }
    let (salvage, damaged) = try rebuild(waitingUntil: deadline)
    let name = aside.freeName(at: configuration.now())
    // The damaged file's write lock ends after the exchange: what another process committed to it in between, a
    // sign-out even, would be gone with it.
    try withExtendedLifetime(damaged) { () throws(CacheStoreError) in try aside.exchange(for: name) }
    // The journal's lines refer to rows of the damaged file.
    UsageJournal(files: files).removeAll()
    aside.prune()
    tell(
      .quarantined(path: files.database, keptAs: name, carriedOver: salvage.carriedOver, lost: salvage.lost))
    return true
  }

  /// The condition of the file; `nil` where it could not be opened, as while another process begins it anew: whoever
  /// opens the next one says what it is.
  private func currentCondition(
    waitingUntil deadline: Int64
  ) throws(CacheStoreError) -> DamageCheck.Condition? {
    do throws(CacheStoreError) {
      return try DamageCheck.condition(of: files, waitingUntil: deadline)
    } catch {
      guard error.isNotThere else { throw error }
      return nil
    }
  }

  private func migrate(waitingUntil deadline: Int64) throws(CacheStoreError) {
    let connection = try Connection(path: files.resolved(), named: files.database, for: .writing, files.vfs)
    connection.waiting.deadline = deadline
    try Migrations.run(connection)
  }

  /// Removes a store of an earlier revision; whoever opens it next makes it. The database goes first, so that no
  /// process opens it and makes a log that SQLite then takes for the next one's; a log that stays beside an empty file
  /// SQLite deletes.
  private func removeEarlier(_ tell: (StoreEvent) -> Void) throws(CacheStoreError) {
    UsageJournal(files: files).removeAll()
    for path in [files.database, files.log, files.sharedMemory, files.database + "-journal"] {
      try files.removeLeftover(path)
    }
    tell(.begunAnew(path: files.database))
  }

  private typealias Counts = (carriedOver: Int, lost: Int)

  /// Builds the new file beside the damaged one.
  /// - Returns: The connection that locks the damaged file against writers, as far as it still can be locked.
  private func rebuild(
    waitingUntil deadline: Int64
  ) throws(CacheStoreError) -> (counts: Counts, damaged: Connection?) {
    let draft = StoreFiles(path: files.database + ".new", vfs: files.vfs)
    for path in [draft.database, draft.log, draft.sharedMemory, draft.database + "-journal", files.repaired] {
      try files.removeLeftover(path)
    }
    defer { for path in [draft.database, draft.log, draft.sharedMemory] { unlink(path) } }
    let filled = try fill(draft, waitingUntil: deadline)
    try keepAccess(of: draft)
    guard rename(draft.database, files.repaired) == 0 else {
      throw CacheStoreError(.cannotOpen, "cannot make \(files.repaired): \(Platform.describe(errno))")
    }
    return filled
  }

  /// Gives the new file the damaged one's mode and, where root repairs a user's store, its owner: whoever could read
  /// the store still can, and no one else.
  private func keepAccess(of draft: StoreFiles) throws(CacheStoreError) {
    guard let old = try files.checkedStatus() else { return }
    if geteuid() == 0 { chown(draft.database, old.owner, old.group) }
    guard chmod(draft.database, mode_t(old.mode & 0o777)) == 0 else {
      throw CacheStoreError(
        .cannotOpen, "cannot change the mode of \(draft.database): \(Platform.describe(errno))")
    }
  }

  private func fill(
    _ draft: StoreFiles, waitingUntil deadline: Int64
  ) throws(CacheStoreError) -> (counts: Counts, damaged: Connection?) {
    try draft.makeDatabase(isNew: true)
    let new = try Connection(path: draft.resolved(), named: draft.database, for: .writing, files.vfs)
    new.waiting.deadline = deadline
    try Schema.configureWriting(new)
    try Schema.create(new, pageBytes: configuration.pageBytes)
    // Opening reads nothing of what is damaged: where it fails, as with too many open files, the rows are still there.
    let damaged = try Connection(path: files.resolved(), named: files.database, for: .writing, files.vfs)
    damaged.waiting.deadline = deadline
    if files.isUntrusted {
      do throws(CacheStoreError) { try damaged.distrust() } catch {
        guard error.isDamage else { throw error }
        // Reading tables with an unknown schema could run its author's SQL.
        try new.checkpoint(.truncating)
        return ((0, 0), nil)
      }
    }
    // The checks of a large file may have taken all the time that there was.
    damaged.waiting.deadline = max(
      deadline, Platform.monotonicNanoseconds() + configuration.busyTimeout.wholeNanoseconds)
    do throws(CacheStoreError) {
      try damaged.execute("BEGIN IMMEDIATE")
    } catch {
      // A damaged file may be impossible to lock, as may one whose damaged header forbids writing; such a
      // file is copied without the lock. Any other error ends the repair: another process may be writing to
      // the file, or the file can be copied another time.
      guard error.isDamage || error.reason == .readOnly && !error.isMoved else { throw error }
    }
    var salvage = Salvage(from: damaged, to: new)
    try salvage.run()
    guard try new.checkpoint(.truncating) else {
      throw CacheStoreError(.busy, "the new store \(draft.database) is in use by another process")
    }
    return ((salvage.carriedOver, salvage.lost), damaged)
  }
}
