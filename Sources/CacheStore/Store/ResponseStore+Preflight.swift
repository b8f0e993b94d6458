extension ResponseStore {
  /// What an exchange has to know before it asks an origin.
  package struct Preflight: Sendable, Hashable {
    /// That the origin asked to be left alone, over or not; `nil` where it did not.
    package var pause: Pause?
    /// Whether a download of the target was cut off, and may be resumed.
    package var mayHavePartialBody = false
    /// Nothing.
    package init() {}

    /// What the first columns of a statement say.
    init(_ statement: Statement) {
      pause = Pause(statement, from: 0)
      mayHavePartialBody = statement.flag(3)
    }

    /// How many columns those are.
    static let columnCount: Int32 = 4
  }

  /// What there is to know before an origin is asked, in one look on the calling thread.
  ///
  /// Nothing where that would have to wait: a store in trouble holds no exchange up (law 9), and a download can be
  /// begun anew.
  package func preflightNow(accountID: Int64, responder: String, target: String) -> Preflight {
    guard (try? checkRunning()) != nil else { return Preflight() }
    do throws(CacheStoreError) {
      return try readNow { (connection) throws(CacheStoreError) in
        guard let statement = try connection.optionalStatement(.preflight) else { return Preflight() }
        defer { statement.reset() }
        statement.bind(1, accountID)
        statement.bind(2, responder)
        statement.bind(3, target)
        return try statement.step() ? Preflight(statement) : Preflight()
      } ?? Preflight()
    } catch {
      // What is wrong is found again, and said, by whoever looks next.
      return Preflight()
    }
  }

  /// Reads on the calling thread without waiting, through whichever connection has the pages at hand.
  ///
  /// - Returns: `nil` where there is no store yet.
  func readNow<Result>(
    _ look: (Connection) throws(CacheStoreError) -> Result
  ) throws(CacheStoreError) -> Result? {
    if let found = writer.readNow(look) { return found }
    return try pool.withConnection(waitingUntil: 0, look)
  }
}
