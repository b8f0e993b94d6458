package import DataService

extension Limits {
  /// The default limits with every time limit an hour: for tests in real time, whose result must not depend on how busy
  /// the machine is.
  package static var unhurried: Limits {
    var limits = Limits()
    limits.connectTimeout = .seconds(3_600)
    limits.firstByteTimeout = .seconds(3_600)
    limits.idleTimeout = .seconds(3_600)
    limits.totalTimeout = .seconds(3_600)
    return limits
  }
}
