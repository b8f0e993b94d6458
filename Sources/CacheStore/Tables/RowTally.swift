internal import CSQLite

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// How many rows the store holds, without counting them at each new one.
///
/// What this connection adds and removes SQLite tells it; what others have committed since shows in `data_version`. Then
/// the number is known only to be no more than it was, one for each body that was arriving then, and one for each made
/// since, whose identifiers are never used again; where that is not enough, the rows are counted.
final class RowTally {
  private var count: Int64 = 0
  private var version: Int64 = 0
  private var lastBody: Int64 = 0
  private var arriving: Int64 = 0

  /// At least the number of rows, and exactly that where it is more than `most`; inside a writing transaction.
  fileprivate func bound(most: Int64, _ connection: Connection, isKnown: Bool) throws(CacheStoreError)
    -> Int64
  {
    let version = try connection.value(.dataVersion)
    if isKnown, version == self.version { return count }
    let lastBody = try connection.value(.lastBody)
    let bound = count + arriving + lastBody - self.lastBody
    if isKnown, bound <= most { return bound }
    count = try connection.value(.rowCount)
    arriving = try connection.value(.unfinishedCount)
    (self.version, self.lastBody) = (version, lastBody)
    return count
  }

  fileprivate func listen(to database: OpaquePointer) {
    sqlite3_update_hook(
      database,
      { context, operation, _, table, _ in
        guard operation != SQLITE_UPDATE, let context, let table, strcmp(table, "last_request") == 0 else {
          return
        }
        let tally = Unmanaged<RowTally>.fromOpaque(context).takeUnretainedValue()
        tally.count += operation == SQLITE_INSERT ? 1 : -1
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}

extension Connection {
  /// At least the number of rows, and exactly that where it is more than `most`; inside a writing transaction.
  func rowCount(most: Int64) throws(CacheStoreError) -> Int64 {
    if let rowTally { return try rowTally.bound(most: most, self, isKnown: true) }
    let tally = RowTally()
    let count = try tally.bound(most: most, self, isKnown: false)
    tally.listen(to: handle)
    rowTally = tally
    return count
  }

  /// Forgets the number of rows, after changes that were undone.
  func forgetRowCount() {
    guard rowTally != nil else { return }
    sqlite3_update_hook(handle, nil, nil)
    rowTally = nil
  }
}
