internal import CacheStore

/// Decides whether this process refreshes, or another that already does (law 7 across processes).
struct Leasing {
  enum Role {
    /// This process asks the origin, at once or after waiting for another. The lease is `nil` if the store cannot
    /// lease, so that each process asks alone.
    case lead(ExchangeLease?, isAtOnce: Bool)
    /// Another process refreshed the entry, and this is its answer.
    case follow(Answer)
  }

  /// The interval at which followers check whether the leader has ended.
  static let interval = Duration.milliseconds(5)
  /// How often the lease is tried that nobody holds and nobody is given, as on a file system whose locks are broken.
  private static let tries = 100

  private let exchange: Exchange
  /// The deadline for waiting for another process: a suspended process, or one on a suspended machine, holds its
  /// lease forever.
  private let waitsUntil: Int64
  private let hash: UInt64
  private var store: ResponseStore { exchange.core.store }

  init(exchange: Exchange) {
    self.exchange = exchange
    let limits = exchange.plan.prepared.request.limits
    waitsUntil = exchange.core.timekeeper.instant(
      after: min(limits.firstByteTimeout, limits.totalTimeout / 2))
    hash = exchange.core.leaseHash(of: exchange.plan.prepared)
  }

  /// The answer that another process says it has stored.
  func othersAnswer() async -> Answer? { try? await followed(since: known) }

  func obtain() async throws(DataServiceError) -> Role {
    let began = exchange.core.timekeeper.bootNanoseconds
    var isWaiting = false
    var before: StoredResponse??
    var tries = 0
    var isLeftToOthers = false
    do throws(CacheStoreError) {
      while !isLeftToOthers {
        guard let taken = try await tryLease() else {
          exchange.core.trace("goes alone: the store's lock file does not answer")
          return .lead(nil, isAtOnce: false)
        }
        if let lease = taken {
          if isWaiting || isOvertaken(by: lease), let answer = try await followed(since: before ?? known) {
            exchange.core.door.perform { lease.release() }
            return .follow(answer)
          }
          exchange.core.trace("no other process is fetching this")
          return .lead(held(lease), isAtOnce: !isWaiting)
        }
        isLeftToOthers = exchange.plan.prepared.request.yieldsToOthers
        if isLeftToOthers { continue }
        if exchange.plan.isBeside { return .lead(nil, isAtOnce: true) }
        if !isWaiting {
          isWaiting = true
          before = await storedBefore()
          guard before != nil else {
            exchange.core.trace("goes alone: the store does not answer")
            return .lead(nil, isAtOnce: false)
          }
          exchange.core.trace("waiting for another process that is fetching this")
        }
        let isOver = try await waitWhileLeased(since: began)
        if let answer = try await followed(since: before) { return .follow(answer) }
        tries += 1
        if !isOver || tries == Self.tries {
          exchange.core.trace("goes alone: the process that leads does not answer")
          return .lead(nil, isAtOnce: false)
        }
        if try await holder(since: began) == .endedWithoutRow {
          exchange.core.trace("fetching alone: the response of the other process was not stored")
          return .lead(nil, isAtOnce: false)
        }
      }
    } catch {
      // A store that cannot lease is unusable, so each process asks the origin alone.
      if Task.isCancelled { throw DataServiceError(.cancelled, "cancelled") }
      if exchange.core.timekeeper.bootNanoseconds >= exchange.deadline {
        throw DataServiceError(.timeout(.total), "another process's exchange took longer than the load may")
      }
      if error.reason == .cannotLock { exchange.core.warn(store: error) }
      return .lead(nil, isAtOnce: false)
    }
    throw DataServiceError(.other, "another process is refreshing this already")
  }

  /// The lease with what ends it.
  func held(_ lease: Lease) -> ExchangeLease {
    ExchangeLease(lease: lease, store: store, hash: hash)
  }

  /// Tries to take the lease; the outer `nil` means that the file system did not answer in time. The lock file is
  /// opened on a queue, since it may be on a disk or file server that hangs.
  func tryLease() async throws(CacheStoreError) -> Lease?? {
    let giveBack: @Sendable (Result<Lease?, CacheStoreError>) -> Void = {
      if case .success(let lease?) = $0 { lease.release() }
    }
    let door = exchange.core.door
    guard store.isReadyToLease else {
      return try await door.ask(for: .lockFile, late: giveBack) {
        [hash] (store) async throws(CacheStoreError) in
        try await store.openLease(hash)
      }.get()
    }
    return try await door.call(for: .lockFile, late: giveBack) { [hash] (store) throws(CacheStoreError) in
      try store.tryLease(hash)
    }.get()
  }

  /// Waits until no process holds the lease, or the holder has announced that no row will come.
  /// - Returns: `false` if the wait for the holder timed out.
  private func waitWhileLeased(since began: Int64) async throws(CacheStoreError)
    -> Bool
  {
    var isPrepared = false
    while true {
      switch try await holder(since: began) {
      case .working: break
      case .gone, .endedWithoutRow: return true
      case nil: return false
      }
      if !isPrepared {
        isPrepared =
          await exchange.core.door.call { [key = exchange.plan.prepared.key] in $0.prepareLookup(key) }.value
          ?? true
      }
      let now = exchange.core.timekeeper.bootNanoseconds
      guard now < exchange.deadline else { throw CacheStoreError(.busy, "the leader is not done") }
      guard now < waitsUntil else { return false }
      do {
        try await exchange.core.timekeeper.sleep(for: Self.interval)
      } catch {
        throw CacheStoreError(.closed, "cancelled")
      }
    }
  }

  /// The state of the process that refreshes.
  private enum Holder: Sendable {
    case working
    case gone
    /// The holder has announced that no row will come; another process may hold the lease by now.
    case endedWithoutRow
  }

  /// - Returns: `nil` if the file system does not answer in time.
  private func holder(since began: Int64) async throws(CacheStoreError) -> Holder? {
    let clock = exchange.core.timekeeper
    return try await exchange.core.door.call(for: .lockFile) { [hash] (store) throws(CacheStoreError) in
      let isLeased = try store.isLeased(hash)
      let hasEnded = try store.leaseEndedWithoutRow(hash, since: began, now: clock.bootNanoseconds)
      return hasEnded ? Holder.endedWithoutRow : isLeased ? .working : .gone
    }.get()
  }

  /// Whether the exchange before this lease's ended with a row since this one was made, which has not looked since.
  private func isOvertaken(by lease: Lease) -> Bool {
    let now = exchange.core.timekeeper.bootNanoseconds
    return lease.rowStoredAt > exchange.madeAt && lease.rowStoredAt <= now
  }

  /// What the exchange knows to be stored; the outer `nil` where it does not know.
  private var known: StoredResponse?? {
    let plan = exchange.plan
    if let candidate = plan.candidate { return .some(candidate) }
    // `isRowKnown` holds after a failed lookup too. Only an account or a preflight shows that the store
    // answered.
    let hasAnswered = plan.isRowKnown && (plan.accountID != nil || plan.preflight != nil)
    // Under `http` a row may be stored that is no candidate, as for a request with a precondition of its own.
    return hasAnswered && !plan.prepared.isHTTP ? .some(nil) : nil
  }

  /// What is stored when the waiting begins, which is not the leader's answer. It is looked up only where the exchange
  /// does not know it.
  /// - Returns: The outer `nil` where the store does not answer: it could not tell the leader's answer either.
  private func storedBefore() async -> StoredResponse?? {
    if let known { return known }
    guard let found = try? await stored() else { return nil }
    return found.map(isAsNew) == true ? .some(nil) : found
  }

  /// What is stored now, of the rows that may answer the request; the outer `nil` where the store does not answer before
  /// half of the time is over that is left to the exchange and its loads.
  private func stored() async throws(CacheStoreError) -> StoredResponse?? {
    let prepared = exchange.plan.prepared
    let end = min(exchange.deadline, exchange.patience ?? .max)
    let looked = await exchange.core.door.ask(for: .following(until: end)) {
      (store) async throws(CacheStoreError) in
      try await store.lookup(prepared.key)
    }
    guard let found = try looked.get() else { return nil }
    return .some(exchange.core.select(from: found, for: prepared))
  }

  /// The leader's answer, if a row has come since the waiting began, or the look-up.
  private func followed(
    since before: StoredResponse??
  ) async throws(CacheStoreError) -> Answer? {
    guard let row = try await stored() ?? nil, isAnswer(row, since: before), exchange.isFreshEnough(row)
    else { return nil }
    exchange.closeToNewLoads()
    await exchange.mark(row)
    let plan = exchange.plan
    return Answer(row: row, comparedWith: plan.candidate)
  }
}

extension Leasing {
  /// Whether a row is the answer of an exchange that ended since the waiting began, or the look-up. A row that another
  /// machine brought is none, since it may be of any age; nor is one that a program stored or imported, since no
  /// origin sent it.
  /// - Parameter before: What was stored then; where that is not known, only a later exchange's row is an answer.
  private func isAnswer(_ row: StoredResponse, since before: StoredResponse??) -> Bool {
    guard !row.isUnconfirmed else { return false }
    guard let before else { return isAsNew(row) }
    // If the newest row was removed meanwhile, the lookup may find an older variant.
    if let before, !row.isLater(than: before, inBoot: exchange.started.boot) { return false }
    return isAsNew(row) || !row.started.isFromElsewhere
  }

  /// Whether a row's exchange began after this one. Then the row is as good as this exchange's own answer,
  /// whichever process fetched it, and whenever it was stored.
  private func isAsNew(_ row: StoredResponse) -> Bool {
    row.started.boot == exchange.started.boot && row.started.nanoseconds >= exchange.madeAt
  }
}

extension StoredResponse {
  /// Whether the row is of a later exchange than the other. Marks of two boots do not compare: what the present boot
  /// brought is then the later one, and else the time of receipt decides.
  fileprivate func isLater(than other: StoredResponse, inBoot boot: String) -> Bool {
    guard started.boot != other.started.boot else {
      return (started.nanoseconds, receivedAt) > (other.started.nanoseconds, other.receivedAt)
    }
    if started.boot == boot { return true }
    return other.started.boot != boot && receivedAt >= other.receivedAt
  }
}
