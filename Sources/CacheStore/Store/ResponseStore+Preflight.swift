extension ResponseStore {
  /// The state an exchange needs before it sends a request to an origin.
  package struct Preflight: Sendable, Hashable {
    /// The origin's latest `Retry-After`, over or not; `nil` where it sent none.
    package var pause: Pause?
    /// Whether a download of the target was cut off, and may be resumed.
    package var mayHavePartialBody = false
    /// Neither a pause nor a partial body.
    package init() {}

    /// Reads the first columns of a statement's current row.
    init(_ statement: Statement) {
      pause = Pause(statement, from: 0)
      mayHavePartialBody = statement.flag(3)
    }

    /// The number of those columns.
    static let columnCount: Int32 = 4
  }

  /// The state needed before an origin is asked, in one query on the calling thread.
  ///
  /// Empty where the read would have to wait: a store in trouble delays no exchange (law 9), and a download can start
  /// again.
  package func preflightNow(accountID: Int64, responder: String, target: String) -> Preflight {
    guard (try? writer.checkRunning()) != nil else { return Preflight() }
    do throws(CacheStoreError) {
      return try readNow { (connection) throws(CacheStoreError) in
        let statement = try connection.statement(.preflight)
        defer { statement.reset() }
        statement.bind(1, accountID)
        statement.bind(2, responder)
        statement.bind(3, target)
        return try statement.step() ? Preflight(statement) : Preflight()
      } ?? Preflight()
    } catch {
      // The next read meets the same error and reports it.
      return Preflight()
    }
  }

  /// Reads on the calling thread without waiting: first through the write connection, whose cache may hold the pages.
  ///
  /// - Returns: `nil` where there is no store yet.
  func readNow<Result>(
    _ look: (Connection) throws(CacheStoreError) -> Result
  ) throws(CacheStoreError) -> Result? {
    if let found = writer.readNow(look) { return found }
    return try pool.withConnection(waitingUntil: 0, look)
  }
}
