internal import Guards

package import PlatformFoundation

/// A body being received, or cut off: each chunk is committed as it arrives.
///
/// No lookup sees it until ``ResponseStore/overwrite(_:soon:)`` switches a row to it. An abandoned body is collected
/// later; one begun with `partial` is kept so that the download can be resumed. One task at a time appends to it.
package final class UnfinishedBody: Sendable {
  /// The request and validator by which a cut-off download is resumed.
  package struct Partial: Sendable, Hashable {
    /// The request's key. The body's account counts, not the key's.
    package var key: RequestKey
    /// The request fields that its `Vary` names, as in a row.
    package var variant: String
    /// The URL that sent the first part, and how it was reached: only the same may send the rest.
    package var url: String
    /// The response's fields, `ETag` among them, as in a row.
    package var fields: HTTPFields
    /// Its strong validator.
    package var strongETag: String
    /// The complete length in bytes; `nil` where the origin did not send it.
    package var wholeLength: Int64?

    /// Makes a description.
    package init(
      key: RequestKey, variant: String = "", url: String, fields: HTTPFields = [:], strongETag: String,
      wholeLength: Int64?
    ) {
      self.key = key
      self.variant = variant
      self.url = url
      self.fields = fields
      self.strongETag = strongETag
      self.wholeLength = wholeLength
    }
  }

  struct Chunks {
    var checksums: [Int64] = []
    var length: Int64 = 0
    var first = Data()
    /// Why a chunk could not be committed; no later chunk is then committed.
    var failure: CacheStoreError?
  }

  /// The row of `body`.
  package let id: Int64
  /// The account that owns the body.
  package let accountID: Int64
  private let store: ResponseStore
  /// Whether rows may be evicted for it before it belongs to one: it has arrived completely and can no longer be
  /// refused.
  private let makesRoom: Bool
  private let lease: Lease?
  private let chunks: Guarded<Chunks>

  init(
    id: Int64, accountID: Int64, chunks: Chunks = Chunks(), makesRoom: Bool = false, lease: Lease?,
    store: ResponseStore
  ) {
    self.id = id
    self.accountID = accountID
    self.chunks = Guarded(chunks)
    self.makesRoom = makesRoom
    self.lease = lease
    self.store = store
  }

  /// The number of bytes committed so far.
  package var length: Int64 { chunks.withLock { $0.length } }

  /// The number of chunks committed so far.
  package var chunkCount: Int { chunks.withLock { $0.checksums.count } }

  /// Commits the bytes as one chunk in its own transaction; more than `chunkBytes` become several chunks.
  ///
  /// - Throws: `signedOut` where the account is gone, `full` where the disk or half the store's limit is reached.
  package func append(_ bytes: Data) async throws(CacheStoreError) {
    var start = bytes.startIndex
    let size = store.configuration.chunkBytes
    while start < bytes.endIndex {
      let end = bytes.index(start, offsetBy: size, limitedBy: bytes.endIndex) ?? bytes.endIndex
      // A piece of at most one chunk is not copied.
      let piece = start == bytes.startIndex && end == bytes.endIndex ? bytes : Data(bytes[start..<end])
      try await awaited { append(chunk: piece, completion: $0) }
      start = end
    }
  }

  /// Commits at most `chunkBytes` bytes as the next chunk. The caller need not await earlier chunks. After a chunk
  /// that could not be committed, no other is.
  ///
  /// - Parameter completion: Called on the write queue.
  package func append(
    chunk bytes: Data, completion: @escaping @Sendable (Result<Void, CacheStoreError>) -> Void
  ) {
    store.writer.perform({ (connection) throws(CacheStoreError) in try self.commit(bytes, connection) }) {
      result in
      // Recorded before the queue runs the next chunk.
      if case .failure(let error) = result { self.chunks.withLock { $0.failure = $0.failure ?? error } }
      completion(result)
    }
  }

  private func commit(_ bytes: Data, _ connection: Connection) throws(CacheStoreError) {
    let (number, length, failure) = chunks.withLock { ($0.checksums.count, $0.length, $0.failure) }
    if let failure { throw failure }
    let checksum = try connection.transaction(isStoring: true) { () throws(CacheStoreError) in
      _ = try store.eviction.limits(connection)
      guard length + Int64(bytes.count) <= store.eviction.largestBody else {
        throw store.eviction.tooLarge(length + Int64(bytes.count))
      }
      try store.eviction.collectReleased(givesBack: false, connection)
      let checksum = try store.ofAccount(accountID, connection) { () throws(CacheStoreError) in
        try store.rowWriter.insertChunk(bytes, number: number, of: id, connection)
      }
      if makesRoom {
        if number == 0 { try markAsMakingRoom(connection) }
        try store.eviction.keepWithinLimit(writing: 0, connection)
      } else {
        try store.eviction.keepRoomForArriving(connection)
      }
      return checksum
    }
    connection.logWriteback.begin()
    chunks.withLock { chunks in
      chunks.checksums.append(checksum)
      chunks.length += Int64(bytes.count)
      if number == 0 { chunks.first = bytes }
    }
  }

  /// Tells every process that the body makes its own room, so that none lets the store exceed its limit for it: see
  /// ``Eviction/arrivingPages(_:)``.
  private func markAsMakingRoom(_ connection: Connection) throws(CacheStoreError) {
    _ = try connection.first("UPDATE body SET partial_bytes = 0 WHERE id = ?1", [id])
  }

  /// The body as its row will store it, held for its readers.
  package func whole() -> StoredResponse.Body {
    var body = chunks.withLock { chunks in
      StoredResponse.Body(
        id: id, length: chunks.length, firstChunk: chunks.first,
        checksum: Checksum.ofBody(chunks: chunks.checksums), accountID: accountID)
    }
    store.hold(&body)
    return body
  }

  /// Commits no further chunk, not even one already in the queue; committed chunks stay.
  package func stop(_ error: CacheStoreError) {
    chunks.withLock { $0.failure = $0.failure ?? error }
  }

  /// Discards a cut-off download: it is collected once no process holds its lease. No caller awaits that; where the
  /// write fails, the body stays as a cut-off download and is removed by age or eviction.
  package func giveUp() {
    store.writer.submit { [id] (connection) throws(CacheStoreError) in
      let statement = try connection.statement(.giveUpPartial)
      statement.bind(1, id)
      try statement.run()
    }
  }

  /// Discards a body that came too late to be used, and releases its lease.
  package func abandon() {
    giveUp()
    end()
  }

  /// Releases a body that has arrived and that no row will have, and its lease. It is kept while it is read, and never
  /// resumed.
  package func refuse() {
    store.writer.submit { [id, store] (connection) throws(CacheStoreError) in
      try connection.transaction { () throws(CacheStoreError) in
        try connection.release(body: id, at: store.configuration.now())
      }
    }
    end()
  }

  /// Deletes the body at once, chunk by chunk, and returns the space to the file system where that has little left.
  /// No caller awaits that either.
  package func remove() {
    store.writer.submit { [id] (connection) throws(CacheStoreError) in
      try connection.transaction { () throws(CacheStoreError) in
        try connection.release(body: id, at: 0)
      }
    }
    for _ in 0...chunkCount {
      store.writer.submit { [id] (connection) throws(CacheStoreError) in
        try connection.transaction { () throws(CacheStoreError) in
          try connection.collectChunk(of: id)
        }
      }
    }
    store.writer.submit { [store] (connection) throws(CacheStoreError) in
      if connection.isShortOfRoom { store.writer.room.giveBack(connection) }
    }
  }

  /// Releases the lease, so that the body may be collected: after the writes already queued, and on the write queue.
  package func end() {
    guard let lease else { return }
    store.writer.afterQueuedWork { lease.release() }
  }
}
