internal import CacheStore
internal import PlatformFoundation

extension StoredResponse {
  /// The identifier of a row that is in the tier and not in the local store, where the first is 1.
  private static let tierID: Int64 = -1

  /// Whether the row came from the tier and is not in the local store yet.
  var isFromTier: Bool { id == Self.tierID }

  /// A row of the tier in the terms of the local store, with its whole body in memory.
  ///
  /// The head's `receivedAt` already accounts for the row's age when it was offered, so `Age` and the exchange's delay must not
  /// be added again.
  ///
  /// - Parameter variant: The request's fields that `Vary` names, in the format of the `variant` column.
  init(_ row: TierRow, body: Data, variant: String) {
    var head = row.head
    head.fields.remove("Age")
    head.requestedAt = head.receivedAt
    self.init(
      id: Self.tierID, accountID: 0, variant: variant, vary: row.vary, head: head,
      body: Body(id: Self.tierID, length: row.length, firstChunk: body, checksum: row.checksum))
  }
}
