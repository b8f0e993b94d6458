internal import CSQLite
internal import PlatformC

/// The number of rows in the store, without counting them for each new row.
///
/// An update hook counts the rows this connection inserts and deletes; `data_version` tells when another connection
/// has committed. The tally then has only an upper bound: the last count, plus one for each body that was unfinished
/// then, plus one for each body inserted since, whose identifiers are never reused. The rows are counted only where
/// that bound exceeds the limit.
final class RowTally {
  fileprivate var count: Int64 = 0
  fileprivate var version: Int64 = 0
  fileprivate var lastBody: Int64 = 0
  fileprivate var arriving: Int64 = 0

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
  /// An upper bound of the number of rows, and the exact number where the bound exceeds `most`; inside a writing
  /// transaction.
  func rowCount(most: Int64) throws(CacheStoreError) -> Int64 {
    let version = try value(.dataVersion)
    if let rowTally, rowTally.version == version { return rowTally.count }
    let lastBody = try value(.lastBody)
    if let rowTally {
      let bound = rowTally.count + rowTally.arriving + (lastBody - rowTally.lastBody)
      if bound <= most { return bound }
    }
    let tally = rowTally ?? RowTally()
    tally.count = try value(.rowCount)
    tally.arriving = try value(.unfinishedCount)
    (tally.version, tally.lastBody) = (version, lastBody)
    if rowTally == nil {
      tally.listen(to: handle)
      rowTally = tally
    }
    return tally.count
  }

  /// Forgets the number of rows after a rollback, which the update hook does not report.
  func forgetRowCount() {
    guard rowTally != nil else { return }
    sqlite3_update_hook(handle, nil, nil)
    rowTally = nil
  }
}
