import PlatformC

/// Whether the condition comes to hold while others run: for what ends on a queue that says nothing when it has.
///
/// It is given up after a minute, which no machine is too busy for.
public func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
  let end = monotonicSeconds() + 60
  while true {
    if try await condition() { return true }
    guard monotonicSeconds() < end else { return false }
    await Task.yield()
  }
}

private func monotonicSeconds() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return time.tv_sec
}
