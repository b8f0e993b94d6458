package import CacheStore

/// The transport of a service that is given none, over URLSession: in the portable build and on Apple's systems.
/// `SystemTransport.swift` has the other one.
package enum SystemTransport {
  /// Its name, for the version line.
  package static func version() throws(DataServiceError) -> String { "URLSession" }

  /// The system has its authorities, and does not say where.
  package static func authorities(_ options: ConnectionOptions) -> StoreFinding? { nil }

  /// Makes one. URLSession has limits of its own in place of `exchanges`.
  static func make(
    exchanges: DataService.ExchangeLimits, thread: NetworkThread, timekeeper: any Timekeeper
  ) -> any Transport {
    SessionTransport(timekeeper: timekeeper)
  }

  /// No transport here has a thread that a service could share.
  static func thread(of transport: (any Transport)?) -> NetworkThread? { nil }
}
