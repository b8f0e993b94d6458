internal import CacheStore
internal import PlatformFoundation

/// Collects a body as it arrives: a short body in memory, a long one in chunks in the store, and one that may not or
/// cannot be stored as a stream to the caller.
struct BodyCollector {
  /// The collected body.
  enum Collected: Sendable {
    case short(Data)
    case long(UnfinishedBody)
    case live(DataService.BodyStream)
    /// The part stored earlier does not fit this response, so the whole body must be requested.
    case askAgain(because: String)
  }

  /// A body that may not be stored is held in memory up to this size; a larger one is delivered as a stream.
  private static let heldBytes = 8 << 20
  /// A stored body up to this size is delivered from memory, since what is stored may not be readable.
  private static let copiedBytes = 1 << 20
  /// The number of chunks committed at a time: the next chunk arrives while one is committed.
  private static let chunksUnderWay = 2

  let door: StoreDoor
  /// Opens a body in the store; `nil` if the answer may not be stored. Each step of the store has its time limit; after
  /// it, the body is delivered without being stored.
  let open: (@Sendable () async throws(CacheStoreError) -> UnfinishedBody)?
  /// The stored body to compare with.
  let previous: StoredResponse.Body?
  let limit: Int64
  /// The promised length of a resumed body; a body of another length is rejected.
  let promised: Int64?
  let chunkBytes: Int
  /// Whether a truncated body can be resumed later.
  let isResumable: () -> Bool
  let progress: (Int64) -> Void

  private(set) var isSameAsPrevious: Bool
  /// The error that prevented storing the body, although it may be stored.
  private(set) var storeFailure: CacheStoreError?
  private var unfinished: UnfinishedBody?
  private var chunkCount: Int
  /// The bytes received since the last chunk.
  private var pending = Data()
  /// The chunks being committed, oldest first.
  private var underWay: [ChunkCommit] = []
  /// A reader of the rest of the stored body to compare with; `nil` where all of it is in memory.
  private var comparison: BodyReading?
  /// The bytes of the stored body that come next in the comparison.
  private var expected = Data()
  private(set) var received: Int64
  /// The bytes of the chunks that are stored; `nil` where they are many, or some came with an earlier exchange.
  private var copy: Data?

  init(
    door: StoreDoor, chunkBytes: Int, previous: StoredResponse.Body?, limit: Int64,
    isResumable: @escaping () -> Bool = { false }, resuming: Resumption.Resumed? = nil,
    open: (@Sendable () async throws(CacheStoreError) -> UnfinishedBody)?,
    progress: @escaping (Int64) -> Void
  ) {
    self.door = door
    self.chunkBytes = chunkBytes
    self.previous = previous
    self.limit = limit
    self.isResumable = isResumable
    self.open = open
    self.progress = progress
    isSameAsPrevious = previous != nil && (resuming == nil || resuming?.wholeLength == previous?.length)
    if isSameAsPrevious, let previous {
      if previous.isWhole {
        expected = previous.firstChunk
      } else {
        comparison = BodyReading(previous, in: door.store)
      }
    }
    promised = resuming?.wholeLength
    unfinished = resuming?.body
    received = resuming?.body.length ?? 0
    chunkCount = resuming?.body.chunkCount ?? 0
    copy = resuming == nil ? Data() : nil
  }

  /// The body that was collected, where it is in memory.
  var whole: Data? { isStoring && chunkCount > 0 ? copy : nil }

  /// Reads the stream to its end, or until the body has to be delivered as a stream.
  ///
  /// If the stream fails, the bytes received so far are stored if a later download can resume from them.
  mutating func collect(_ stream: DataService.BodyStream)
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
      // A body over the limit would fail again, and on a full disk so would storing it.
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

  private mutating func collectAll(_ stream: DataService.BodyStream)
    async throws(DataServiceError) -> Collected
  {
    if let unfinished { await compareBeginning(of: unfinished) }
    while let piece = try await stream.next() {
      received += Int64(piece.count)
      guard received <= limit else { throw BodyLimit.exceeded(limit) }
      if let promised, received > promised { return Self.broken(promised) }
      progress(received)
      await take(piece)
      if hasLostChunks { return Self.goneWithTheStore }
      if !isStoring, pending.count > Self.heldBytes { return .live(handedOn(stream)) }
    }
    if let promised, received != promised { return Self.broken(promised) }
    if isStoring, unfinished != nil, !pending.isEmpty { await commitPending() }
    await settleCommits()
    if hasLostChunks { return Self.goneWithTheStore }
    guard let unfinished else { return shortBody() }
    guard isStoring else {
      guard let copy else { return .live(handedOn(nil)) }
      if storeFailure?.reason == .full { unfinished.remove() }
      unfinished.end()
      isSameAsPrevious = false
      return .short(copy + pending)
    }
    if received != previous?.length { isSameAsPrevious = false }
    return .long(unfinished)
  }

  private static func broken(_ promised: Int64) -> Collected {
    .askAgain(because: "the origin sent more or less than the \(Counted.text(promised, "byte")) it said")
  }

  private static let goneWithTheStore = Collected.askAgain(
    because: "the store was removed while the body arrived")

  private var isStoring: Bool { open != nil && storeFailure == nil }

  /// Whether the chunks committed earlier are gone with the store. The origin still has the body.
  private var hasLostChunks: Bool { storeFailure?.reason == .missing && chunkCount > 0 }

  private mutating func shortBody() -> Collected {
    isSameAsPrevious = previous.map { $0.isWhole && $0.firstChunk == pending } ?? false
    return .short(pending)
  }

  /// Adds a piece to the pending bytes. A full chunk is committed only when more bytes follow it.
  private mutating func take(_ piece: Data) async {
    var rest = piece
    while isStoring, pending.count + rest.count > chunkBytes {
      let missing = chunkBytes - pending.count
      pending.append(rest.prefix(missing))
      rest = rest.dropFirst(missing)
      await commitPending()
    }
    if pending.isEmpty, rest.count == piece.count { pending = piece } else { pending.append(rest) }
  }

  /// Starts committing the pending bytes as a chunk, after waiting until fewer than two commits are running.
  private mutating func commitPending() async {
    await settleCommits(leaving: Self.chunksUnderWay - 1)
    guard isStoring else { return }
    if unfinished == nil, let open {
      let opened = await door.ask(
        for: .commit, late: { if case .success(let body) = $0 { body.abandon() } }
      ) { (_) async throws(CacheStoreError) in try await open() }
      do throws(CacheStoreError) { unfinished = try opened.done() } catch { return fail(error) }
    }
    guard let unfinished else { return }
    underWay.append(ChunkCommit(pending, of: unfinished))
    pending = Data()
    pending.reserveCapacity(chunkBytes)
  }

  /// Waits for the oldest running commits. When one fails, its chunk and all later ones become pending again.
  private mutating func settleCommits(leaving count: Int = 0) async {
    while underWay.count > count, let commit = underWay.first {
      do throws(CacheStoreError) {
        try await door.reply(of: commit.outcome, for: .commit).done()
        underWay.removeFirst()
        chunkCount += 1
        if let held = copy?.count, held + commit.bytes.count <= Self.copiedBytes {
          copy?.append(commit.bytes)
        } else {
          copy = nil
        }
        await compare(commit.bytes)
      } catch {
        pending = underWay.map(\.bytes).reduce(Data(), +) + pending
        underWay = []
        return fail(error)
      }
    }
  }

  /// Compares the beginning of a resumed body, which is stored already.
  private mutating func compareBeginning(of unfinished: UnfinishedBody) async {
    for number in 0..<chunkCount where isSameAsPrevious && !Task.isCancelled {
      let found = await door.ask(for: .commit) { (store) async throws(CacheStoreError) in
        try await store.chunk(number, of: unfinished.id, accountID: unfinished.accountID)
      }
      if let bytes = found.value { await compare(bytes) } else { isSameAsPrevious = false }
    }
  }

  /// Compares a chunk with the stored body's next bytes, which may be in chunks of other lengths: a download that was
  /// resumed is.
  private mutating func compare(_ chunk: Data) async {
    guard isSameAsPrevious else { return }
    var rest = chunk
    while !rest.isEmpty {
      if expected.isEmpty, let comparison {
        // An unreadable stored body counts as different. The reader reports the damage itself.
        let piece = await door.ask(for: .commit) { (_) async throws(CacheStoreError) in
          try await comparison.next()
        }
        if case .done(let bytes?) = piece { expected = bytes }
      }
      let count = min(rest.count, expected.count)
      guard count > 0, rest.prefix(count) == expected.prefix(count) else {
        isSameAsPrevious = false
        comparison = nil
        expected = Data()
        return
      }
      rest = rest.dropFirst(count)
      expected = expected.dropFirst(count)
    }
  }

  private mutating func fail(_ error: CacheStoreError) {
    storeFailure = error
    unfinished?.stop(error)
    // Resuming later would run out of space too, so the stored part is removed once it has been read.
    if error.reason == .full { unfinished?.giveUp() }
  }

  /// A stream of the stored chunks, then the bytes in memory, then the rest of the transport's stream. What the caller
  /// reads is not compared, so it counts as different from what is stored.
  private mutating func handedOn(_ rest: DataService.BodyStream?) -> DataService.BodyStream {
    isSameAsPrevious = false
    let pieces = JoinedBody(
      door: door, stored: unfinished, isRemovedAfterwards: storeFailure?.reason == .full,
      chunkCount: copy == nil ? chunkCount : 0, held: (copy ?? Data()) + pending, rest: rest,
      received: received, limit: limit, promised: promised)
    return DataService.BodyStream(length: rest == nil ? received : promised ?? rest?.length) {
      () async throws(DataServiceError) -> Data? in try await pieces.next()
    }
  }
}

/// The commit of one chunk, which runs while the next chunk arrives.
private struct ChunkCommit: Sendable {
  let bytes: Data
  let outcome = Pending<Void>()

  /// Queues the bytes behind the earlier chunks. The commit goes on even if the exchange is cancelled, so that the
  /// download can be resumed.
  init(_ bytes: Data, of body: UnfinishedBody) {
    self.bytes = bytes
    body.append(chunk: bytes) { [outcome] in outcome.set($0) }
  }
}

/// The error for a body over its limit.
private enum BodyLimit {
  static func exceeded(_ limit: Int64) -> DataServiceError {
    DataServiceError(
      .tooLarge, "the body is larger than the limit of \(Counted.bytes(limit))",
      remedy: .largerBody)
  }
}

/// The state of a stream that joins stored chunks, bytes in memory and the transport's stream.
private actor JoinedBody {
  private let door: StoreDoor
  /// The chunks stored before the failure. Holding them keeps the store from collecting them while they are read.
  private var stored: UnfinishedBody?
  /// Whether the stored chunks are removed once they have been read or this stream is dropped.
  private let isRemovedAfterwards: Bool
  private let chunkCount: Int
  private let rest: DataService.BodyStream?
  private var next = 0
  private var held: Data
  private var received: Int64
  private let limit: Int64
  private let promised: Int64?

  init(
    door: StoreDoor, stored: UnfinishedBody?, isRemovedAfterwards: Bool, chunkCount: Int, held: Data,
    rest: DataService.BodyStream?, received: Int64, limit: Int64, promised: Int64?
  ) {
    self.door = door
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
        return try await door.ask(for: .reading) { [next] (store) async throws(CacheStoreError) in
          try await store.chunk(next, of: stored.id, accountID: stored.accountID)
        }.done()
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
    // The caller already has the first part, so the exchange cannot start again.
    if let promised, rest != nil, piece == nil ? received != promised : received > promised {
      throw DataServiceError(
        .truncated, "the body is not of the promised length, \(Counted.text(promised, "byte"))")
    }
    return piece
  }
}
