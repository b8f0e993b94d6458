package import CacheStore

extension StoreConfiguration {
  /// The default configuration with a wait of minutes for other processes: for tests in real time, whose result must not
  /// depend on how busy the machine is. A `busy` error then means that a lock is never released.
  package static func unhurried(path: String) -> StoreConfiguration {
    var configuration = StoreConfiguration(path: path)
    configuration.busyTimeout = .seconds(300)
    return configuration
  }
}
