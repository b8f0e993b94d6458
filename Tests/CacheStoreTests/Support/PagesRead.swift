@testable import CacheStore

extension ResponseStore {
  /// The number of pages a new connection reads to open the store and look up the key.
  func pagesReadForTesting(_ key: RequestKey) throws(CacheStoreError) -> Int {
    let pool = ReaderPool(files: files) {}
    let pages = try pool.withConnection(waitingUntil: 0) { (connection) throws(CacheStoreError) in
      let statement = try connection.statement(.lookUp)
      defer { statement.reset() }
      statement.bind(1, key.account)
      statement.bind(2, key.target)
      statement.bind(3, key.method)
      statement.bind(4, key.extra)
      while try statement.step() {}
      return connection.pagesRead()
    }
    return pages ?? 0
  }
}
