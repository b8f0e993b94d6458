internal import DataService
internal import Guards
internal import Launch

/// A progress bar in one line of text. Pure.
enum ProgressBar {
  /// `[=====>    ]  52%  260/500  3 failed  1.2 MB/s  4 s left`, never wider than `width`.
  static func text(_ progress: PreloadProgress, elapsed: Duration, width: Int) -> String {
    var parts = ["\(progress.fresh)/\(progress.stepCount)"]
    if progress.failed > 0 { parts.append("\(progress.failed) failed") }
    parts += pace(progress.fraction, bytes: progress.receivedBytes, elapsed)
    return text(progress.fraction, parts, width: width)
  }

  /// `[=====>    ]  52%  1.3 MB/2.5 MB  1.2 MB/s  4 s left`; without a known length no percentage, and dots for the
  /// bar.
  static func text(_ progress: DataService.TransferProgress, elapsed: Duration, width: Int) -> String {
    // If an origin sends more than its declared length, the length is treated as unknown.
    let expected = progress.expected.flatMap { $0 > 0 && $0 >= progress.received ? $0 : nil }
    let fraction = expected.map { Double(progress.received) / Double($0) }
    let size = Words.size(progress.received) + (expected.map { "/" + Words.size($0) } ?? "")
    return text(fraction, [size] + pace(fraction, bytes: progress.received, elapsed), width: width)
  }

  /// Omits parts from the end until there is room for a bar.
  private static func text(_ fraction: Double?, _ parts: [String], width: Int) -> String {
    let share = fraction.map { [percent($0)] } ?? []
    for count in stride(from: parts.count, through: 1, by: -1) {
      let details = (share + parts.prefix(count)).reduce("") { $0 + "  " + $1 }
      let cells = min(40, width - details.count - 2)
      if cells >= 10 { return "[" + bar(fraction, cells: cells) + "]" + details }
    }
    return String((share + parts.prefix(1)).joined(separator: "  ").prefix(max(0, width)))
  }

  private static func percent(_ fraction: Double) -> String {
    let percent = String(Int(fraction * 100))
    return String(repeating: " ", count: max(0, 3 - percent.count)) + percent + "%"
  }

  private static func bar(_ fraction: Double?, cells: Int) -> String {
    guard let fraction else { return String(repeating: ".", count: cells) }
    let filled = Int(fraction * Double(cells))
    if filled >= cells { return String(repeating: "=", count: cells) }
    return String(repeating: "=", count: filled) + ">" + String(repeating: " ", count: cells - filled - 1)
  }

  private static func pace(_ fraction: Double?, bytes: Int64, _ elapsed: Duration) -> [String] {
    guard elapsed.milliseconds >= 500 else { return [] }
    let rate = "\(Words.size(Int64(Double(bytes) * 1_000 / Double(elapsed.milliseconds))))/s"
    guard let fraction, fraction > 0.01, fraction < 1 else { return [rate] }
    return [rate, "\(Words.elapsed(elapsed * ((1 - fraction) / fraction))) left"]
  }
}

/// The last line of a terminal's standard error, which is redrawn in place and erased before anything else is written.
///
/// The cursor stays at its beginning. If a narrower window wraps the line, erasing from there on removes both parts and
/// nothing above them.
final class RedrawnLine: Sendable {
  private let isShown = Guarded(false)
  private let output: OutputDescriptor
  private static let erased = "\r\u{1B}[J"

  init(on output: OutputDescriptor = .standardError) { self.output = output }

  /// Redraws the line.
  func show(_ text: String) {
    isShown.withLock { isShown in
      send("\r\(text)\u{1B}[J\r")
      isShown = true
    }
  }

  /// Erases the line.
  func clear() { write("") }

  /// Writes other text to standard error, in one piece.
  func write(_ text: String) {
    isShown.withLock { isShown in
      let whole = isShown ? Self.erased + text : text
      if !whole.isEmpty { send(whole) }
      isShown = false
    }
  }

  private func send(_ text: String) {
    // There is nowhere to report that standard error is closed.
    try? output.write(Typography.fitting(text))
  }
}

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
