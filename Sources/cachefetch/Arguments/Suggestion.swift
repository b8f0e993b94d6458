/// Proposes what was meant by a name that is not known.
enum Suggestion {
  /// The nearest of `candidates`, if it is near enough to be a slip: one edit for short names, two or three for longer.
  static func nearest(to name: String, among candidates: [String]) -> String? {
    let allowed = max(1, min(3, name.count / 3))
    var best: (name: String, distance: Int)?
    for candidate in candidates {
      let distance = editDistance(Array(name.utf8), Array(candidate.utf8))
      if distance <= allowed, distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    if let best { return best.name }
    // An abbreviation, where it can only mean one thing.
    let longer = candidates.filter { name.count >= 2 && $0.hasPrefix(name) }
    return longer.count == 1 ? longer[0] : nil
  }

  /// What those who come from other programs should write here.
  static func foreign(_ option: String) -> String? {
    switch option {
    case "-L", "--location": "redirects are followed unless --no-location says otherwise"
    case "-s", "--silent", "-sS", "-S", "--show-error": "-q says nothing on standard error"
    case "--max-time": "write --timeout (-m)"
    case "--compressed": "compression is asked for unless --no-compressed says otherwise"
    case "-b", "--cookie", "-c", "--cookie-jar": "there is no cookie jar; send -H 'Cookie: NAME=VALUE'"
    case "-A", "--user-agent": "write -H 'User-Agent: …'"
    case "-e", "--referer": "write -H 'Referer: …'"
    case "-O", "--remote-name": "write -o FILE"
    case "-F", "--form", "-T", "--upload-file":
      "forms and uploads are not this program's; send a body with -d @FILE"
    case "--no-cache", "--refresh", "--fresh": "write --policy fresh-only"
    case "--cached", "--stored": "write --offline"
    case "--data-raw", "--data-urlencode", "--data-ascii": "write -d"
    default: nil
    }
  }

  /// The number of single-byte insertions, removals, replacements and swaps of neighbours between two names.
  static func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var before = [Int](repeating: 0, count: b.count + 1)
    var previous = Array(0...b.count)
    for i in 0..<a.count {
      var current = [i + 1]
      current.reserveCapacity(b.count + 1)
      for j in 0..<b.count {
        var cost = min(previous[j + 1] + 1, current[j] + 1, previous[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, before[j - 1] + 1) }
        current.append(cost)
      }
      before = previous
      previous = current
    }
    return previous[b.count]
  }
}
