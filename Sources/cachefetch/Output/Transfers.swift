internal import DataService

/// The progress of all transfers under way, summed for one bar. Pure: instants are passed in.
struct Transfers {
  typealias Instant = ContinuousClock.Instant

  private struct Transfer {
    /// When its first bytes arrived.
    let began: Instant
    var progress: DataService.TransferProgress
    /// Whether it was complete before a bar was due.
    var wasShort: Bool
  }

  /// A transfer that ends sooner needs no bar.
  private static let shortTime = Duration.milliseconds(500)

  /// The loads under way, including those without any bytes yet.
  private var loads: Set<Int> = []
  private var transfers: [Int: Transfer] = [:]

  init() {}

  /// Adds a load.
  mutating func begin(_ number: Int) { loads.insert(number) }

  /// Updates the progress of a load; ignored after its end.
  mutating func take(_ progress: DataService.TransferProgress, of number: Int, at now: Instant) {
    guard loads.contains(number) else { return }
    let began = transfers[number]?.began ?? now
    let isShort = progress.received == progress.expected && now - began < Self.shortTime
    transfers[number] = Transfer(began: began, progress: progress, wasShort: isShort)
  }

  /// Removes a load: its body is complete or has failed.
  mutating func end(_ number: Int) {
    loads.remove(number)
    transfers[number] = nil
  }

  /// When the next transfer will have taken long enough for the bar; `nil` if there is none.
  func due(after now: Instant) -> Instant? {
    transfers.values.filter { !$0.wasShort && !isLong($0, now) }.map { $0.began + Self.shortTime }.min()
  }

  /// The bar for the transfers that take long; `nil` if there are none.
  func bar(at now: Instant, width: Int) -> String? {
    let long = transfers.values.filter { !$0.wasShort && isLong($0, now) }
    guard let began = long.map(\.began).min() else { return nil }
    let expected = long.map(\.progress.expected).reduce(0 as Int64?) { sum, one in
      sum.flatMap { sum in one.map { sum + $0.summable } }
    }
    let sum = DataService.TransferProgress(
      received: long.map(\.progress.received.summable).reduce(0, +), expected: expected)
    return ProgressBar.text(sum, elapsed: now - began, width: width)
  }

  private func isLong(_ transfer: Transfer, _ now: Instant) -> Bool { now - transfer.began >= Self.shortTime }
}

extension Int64 {
  /// A length for a sum: an origin may announce any, and a million of the largest here can be added.
  var summable: Int64 { Swift.min(Swift.max(self, 0), Int64.max >> 20) }
}
