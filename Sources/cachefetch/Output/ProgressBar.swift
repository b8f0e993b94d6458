internal import Launch

/// A progress bar in one line of text. Pure.
enum ProgressBar {
  /// `[=====>    ]  52%  260/500  3 failed  1.2 MB/s  4 s left`, never wider than `width`.
  static func text(_ progress: PreloadProgress, elapsed: Duration, width: Int) -> String {
    let details = details(progress, elapsed: elapsed)
    let cells = min(40, width - details.count - 2)
    guard cells >= 5 else { return String(details.prefix(width)) }
    return "[" + bar(progress.fraction, cells: cells) + "]" + details
  }

  private static func bar(_ fraction: Double?, cells: Int) -> String {
    guard let fraction else { return String(repeating: ".", count: cells) }
    let filled = Int(fraction * Double(cells))
    if filled >= cells { return String(repeating: "=", count: cells) }
    return String(repeating: "=", count: filled) + ">" + String(repeating: " ", count: cells - filled - 1)
  }

  private static func details(_ progress: PreloadProgress, elapsed: Duration) -> String {
    var parts: [String] = []
    if let fraction = progress.fraction {
      let percent = String(Int(fraction * 100))
      parts.append(String(repeating: " ", count: max(0, 3 - percent.count)) + percent + "%")
    }
    parts.append("\(progress.fresh)/\(progress.stepCount)")
    if progress.failed > 0 { parts.append("\(progress.failed) failed") }
    let milliseconds = elapsed.milliseconds
    if milliseconds >= 500 {
      parts.append("\(Words.size(progress.receivedBytes * 1_000 / milliseconds))/s")
      if let fraction = progress.fraction, fraction > 0.01, fraction < 1 {
        parts.append("\(Words.elapsed(elapsed * ((1 - fraction) / fraction))) left")
      }
    }
    return parts.reduce("") { $0 + "  " + $1 }
  }
}
