import DataService

@testable import cachefetch

/// Loads that deliver at once, on the thread that begins them, what a test says.
struct ScriptedLoads: LoadSource {
  /// What the next load delivers.
  let deliveries: @Sendable () -> [LoadReader.Delivery]
  var ends = true
  /// Told what is done with the loads.
  var note: @Sendable (String) -> Void = { _ in }

  func begin(
    _ request: DataService.Request, _ policy: FetchPolicy, progress: Progress?,
    deliver: @escaping @Sendable (LoadReader.Delivery) -> Void, ended: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    for delivery in deliveries() { deliver(delivery) }
    if ends { ended() }
    return { note("cancelled") }
  }

  func close(within timeLimit: Duration) { note("closed") }

  func endProcess(after timeLimit: Duration, _ status: cachefetch.ExitStatus) {
    note("ends with \(status.rawValue)")
  }
}
