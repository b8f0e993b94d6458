internal import CacheStore
internal import FoundationEssentials

/// Collects a body as it arrives: in memory while it is short, in chunks of the store once it is long, and past the store
/// where it may not or cannot be stored.
struct BodyCollector {
  /// What became of the body.
  enum Collected: Sendable {
    case short(Data)
    case long(UnfinishedBody)
    case live(DataService.BodyStream)
    /// What was stored before cannot be put together with it: the whole has to be asked for.
    case askAgain(because: String)
  }

  /// A body that may not be stored is held in memory up to this size, then delivered while it arrives.
  static let heldBytes = 8 << 20
  /// Chunks on their way into the store at a time: the next is there when one is committed.
  private static let chunksUnderWay = 2

  let store: ResponseStore
  /// Reads a chunk of the body back.
  let chunk: @Sendable (_ number: Int, _ body: UnfinishedBody) async throws(CacheStoreError) -> Data
  /// Opens a body in the store; `nil` where the answer may not be stored.
  let open: (@Sendable () async throws(CacheStoreError) -> UnfinishedBody)?
  /// How long each step waits for the store; then the body goes on without it.
  let waiting: StoreWaiting
  /// The stored body to compare with.
  let previous: StoredResponse.Body?
  let limit: Int64
  /// How long the body is, where that was promised for it and what came before; one of another length is refused.
  let promised: Int64?
  let chunkBytes: Int
  /// Whether a body that is cut off can be resumed.
  let isResumable: () -> Bool
  let progress: (Int64) -> Void

  private(set) var isSameAsPrevious: Bool
  /// Why the body, though it might be stored, is not.
  private(set) var storeFailure: CacheStoreError?
  private var unfinished: UnfinishedBody?
  private var chunkCount = 0
  /// What has arrived and is in no chunk yet.
  private var pending = Data()
  /// The chunks that are being committed, the oldest first.
  private var underWay: [ChunkCommit] = []
  /// The stored body to compare with, as it is read; `nil` where it differs already.
  private var comparison: BodyReading?
  private var received: Int64 = 0

  init(
    store: ResponseStore, waiting: StoreWaiting, chunkBytes: Int, previous: StoredResponse.Body?,
    limit: Int64,
    isResumable: @escaping () -> Bool = { false }, resuming: Resumption.Resumed? = nil,
    open: (@Sendable () async throws(CacheStoreError) -> UnfinishedBody)?,
    chunk: @escaping @Sendable (Int, UnfinishedBody) async throws(CacheStoreError) -> Data,
    progress: @escaping (Int64) -> Void
  ) {
    self.store = store
    self.chunk = chunk
    self.waiting = waiting
    self.chunkBytes = chunkBytes
    self.previous = previous
    self.limit = limit
    self.isResumable = isResumable
    self.open = open
    self.progress = progress
    isSameAsPrevious = previous != nil && resuming == nil
    if isSameAsPrevious, let previous, !previous.isWhole { comparison = BodyReading(previous, in: store) }
    promised = resuming?.wholeLength
    unfinished = resuming?.body
    received = resuming?.body.length ?? 0
    chunkCount = resuming?.body.chunkCount ?? 0
  }

  /// Pulls the stream to its end, or to where it has to be handed on.
  ///
  /// Where the stream fails, what has arrived is stored as far as it can be resumed later.
  nonisolated(nonsending) mutating func collect(_ stream: DataService.BodyStream)
    async throws(DataServiceError) -> Collected
  {
    do throws(DataServiceError) {
      let collected = try await collectAll(stream)
      if case .askAgain = collected {
        await settleCommits()
        unfinished?.remove()
        unfinished?.end()
      }
      return collected
    } catch {
      await settleCommits()
      // One that is too large would be too large again, and one without room would have none again.
      let isUseless = error.kind == .tooLarge || storeFailure?.reason == .full
      if isStoring, !pending.isEmpty, !isUseless, isResumable() {
        await commitPending()
        await settleCommits()
      }
      if isUseless { unfinished?.remove() }
      unfinished?.end()
      throw error
    }
  }

  nonisolated(nonsending) private mutating func collectAll(_ stream: DataService.BodyStream)
    async throws(DataServiceError) -> Collected
  {
    while let piece = try await stream.next() {
      received += Int64(piece.count)
      guard received <= limit else { throw BodyLimit.exceeded(limit) }
      if let promised, received > promised { return Self.broken(promised) }
      progress(received)
      await take(piece)
      if !isStoring, pending.count > Self.heldBytes { return .live(handedOn(stream)) }
    }
    if let promised, received != promised { return Self.broken(promised) }
    if isStoring, unfinished != nil, !pending.isEmpty { await commitPending() }
    await settleCommits()
    // What was committed before can no longer be read: the origin has it still.
    if storeFailure?.reason == .missing, chunkCount > 0 {
      return .askAgain(because: "the store was removed while the body arrived")
    }
    guard let unfinished else { return shortBody() }
    guard isStoring else { return .live(handedOn(nil)) }
    if received != previous?.length { isSameAsPrevious = false }
    return .long(unfinished)
  }

  private static func broken(_ promised: Int64) -> Collected {
    .askAgain(because: "the origin sent more or less than the \(Counted.text(promised, "byte")) it said")
  }

  private var isStoring: Bool { open != nil && storeFailure == nil }

  private mutating func shortBody() -> Collected {
    isSameAsPrevious = previous.map { $0.isWhole && $0.firstChunk == pending } ?? false
    return .short(pending)
  }

  /// Adds a piece to what is pending, which is committed each time it is a whole chunk and more has come.
  nonisolated(nonsending) private mutating func take(_ piece: Data) async {
    var rest = piece
    while isStoring, pending.count + rest.count > chunkBytes {
      let missing = chunkBytes - pending.count
      pending.append(rest.prefix(missing))
      rest = rest.dropFirst(missing)
      await commitPending()
    }
    if pending.isEmpty, rest.count == piece.count { pending = piece } else { pending.append(rest) }
  }

  /// Begins to commit what is pending as a chunk, once there is room on the way into the store.
  nonisolated(nonsending) private mutating func commitPending() async {
    await settleCommits(leaving: Self.chunksUnderWay - 1)
    guard isStoring else { return }
    if unfinished == nil, let open {
      let opened = await waiting.result(
        late: { if case .success(let body) = $0 { body.abandon() } }, of: open)
      switch opened {
      case .success(let body): unfinished = body
      case .failure(let error): return fail(error)
      case nil: return fail(StoreWaiting.gaveUp)
      }
    }
    guard let unfinished else { return }
    underWay.append(ChunkCommit(pending, of: unfinished))
    pending = Data()
    pending.reserveCapacity(chunkBytes)
  }

  /// Waits for the oldest chunks under way. After one that could not be committed none is, and all are pending again.
  nonisolated(nonsending) private mutating func settleCommits(leaving count: Int = 0) async {
    while underWay.count > count, let commit = underWay.first {
      do throws(CacheStoreError) {
        try await commit.wait(waiting)
        underWay.removeFirst()
        chunkCount += 1
        await compare(commit.bytes)
      } catch {
        pending = underWay.map(\.bytes).reduce(Data(), +) + pending
        underWay = []
        return fail(error)
      }
    }
  }

  /// Compares a chunk with that of the stored body which has the same number.
  nonisolated(nonsending) private mutating func compare(_ chunk: Data) async {
    // An old body that can no longer be read is another body to the caller; its row is found damaged on its own.
    if isSameAsPrevious, let comparison {
      let piece = await waiting.result { () async throws(CacheStoreError) in try await comparison.next() }
      if case .success(chunk) = piece { return }
    }
    isSameAsPrevious = false
    comparison = nil
  }

  private mutating func fail(_ error: CacheStoreError) {
    storeFailure = error
    unfinished?.stop(error)
    // Going on with it would find as little room: what there is of it goes once it has been read.
    if error.reason == .full { unfinished?.giveUp() }
  }

  /// What is stored already, then what is in memory, then the rest of the stream.
  private func handedOn(_ rest: DataService.BodyStream?) -> DataService.BodyStream {
    let pieces = JoinedBody(
      chunk: chunk, stored: unfinished, isRemovedAfterwards: storeFailure?.reason == .full,
      chunkCount: chunkCount, held: pending, rest: rest,
      received: received, limit: limit, promised: promised)
    return DataService.BodyStream(length: rest == nil ? received : rest?.length) {
      () async throws(DataServiceError) -> Data? in try await pieces.next()
    }
  }
}

/// One chunk of a body on its way into the store, while the next one arrives.
struct ChunkCommit: Sendable {
  let bytes: Data
  private let outcome = FirstValue<Result<Void, CacheStoreError>?>()

  /// Has the bytes committed after those before them. What has arrived is kept although its exchange is cancelled.
  init(_ bytes: Data, of body: UnfinishedBody) {
    self.bytes = bytes
    body.append(chunk: bytes) { [outcome] in outcome.set($0) }
  }

  /// Returns once the chunk is committed; throws `busy` where the store does not take it in time.
  nonisolated(nonsending) func wait(_ waiting: StoreWaiting) async throws(CacheStoreError) {
    guard let outcome = await waiting.value(of: outcome) else { throw StoreWaiting.gaveUp }
    try outcome.get()
  }
}

/// The error for a body over its limit.
enum BodyLimit {
  static func exceeded(_ limit: Int64) -> DataServiceError {
    DataServiceError(
      .tooLarge, "the body is larger than the limit of \(Counted.text(limit, "byte"))",
      remedy: .largerBody)
  }
}

/// The state of a stream that is put together of parts.
private actor JoinedBody {
  private let chunk: @Sendable (_ number: Int, _ body: UnfinishedBody) async throws(CacheStoreError) -> Data
  /// What the store took before it failed: held, so that nobody collects it while it is read.
  private var stored: UnfinishedBody?
  /// Whether what is stored goes once it has been read, or nobody reads it any more.
  private let isRemovedAfterwards: Bool
  private let chunkCount: Int
  private let rest: DataService.BodyStream?
  private var next = 0
  private var held: Data
  private var received: Int64
  private let limit: Int64
  private let promised: Int64?

  init(
    chunk: @escaping @Sendable (Int, UnfinishedBody) async throws(CacheStoreError) -> Data,
    stored: UnfinishedBody?, isRemovedAfterwards: Bool, chunkCount: Int, held: Data,
    rest: DataService.BodyStream?,
    received: Int64, limit: Int64, promised: Int64?
  ) {
    self.chunk = chunk
    self.stored = stored
    self.isRemovedAfterwards = isRemovedAfterwards
    self.chunkCount = chunkCount
    self.held = held
    self.rest = rest
    self.received = received
    self.limit = limit
    self.promised = promised
  }

  deinit {
    if isRemovedAfterwards { stored?.remove() }
  }

  func next() async throws(DataServiceError) -> Data? {
    if let stored, next < chunkCount {
      defer { next += 1 }
      do throws(CacheStoreError) {
        return try await chunk(next, stored)
      } catch {
        throw DataServiceError(store: error)
      }
    }
    if isRemovedAfterwards, let stored {
      stored.remove()
      self.stored = nil
    }
    if !held.isEmpty {
      defer { held = Data() }
      return held
    }
    let piece = try await rest?.next()
    received += Int64(piece?.count ?? 0)
    guard received <= limit else { throw BodyLimit.exceeded(limit) }
    // What has been handed on cannot be begun anew.
    if let promised, rest != nil, piece == nil ? received != promised : received > promised {
      throw DataServiceError(
        .truncated, "the body is not of the promised length, \(Counted.text(promised, "byte"))")
    }
    return piece
  }
}
