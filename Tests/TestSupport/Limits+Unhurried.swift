package import DataService

extension Limits {
  /// The default limits, but an hour for everything: for tests that run in real time, where how busy the machine is must
  /// not decide what is seen.
  package static var unhurried: Limits {
    var limits = Limits()
    limits.connectTimeout = .seconds(3_600)
    limits.firstByteTimeout = .seconds(3_600)
    limits.idleTimeout = .seconds(3_600)
    limits.totalTimeout = .seconds(3_600)
    return limits
  }
}
