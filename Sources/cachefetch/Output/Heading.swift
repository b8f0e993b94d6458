internal import DataService

/// The line on a terminal's standard error that introduces a delivery: kind, status, age or time taken, size, change.
struct Heading {
  /// The URL, if several are loaded.
  var url: String?
  /// The terminal's width in columns.
  var width = 80
  var hasColour = false

  /// The line for a delivery, with its line feed.
  func line<Value>(_ delivery: DataService.Delivery<Value>) -> String {
    switch delivery {
    case .stored(let response):
      let tier = response.source == .tier ? ["from another machine"] : []
      let stale = tier + (response.isStale ? ["stale"] : [])
      return line(
        "stored", "33", [response.head.statusText, Words.age(response.age)] + size(response.head) + stale)
    case .fresh(let response, let change):
      let body = change == .unchanged ? [] : size(response.head)
      let parts =
        [response.head.statusText, "in \(Words.elapsed(response.head.elapsed))"] + body + [change.rawValue]
      return line("fresh", response.status >= 400 ? "31" : "32", parts + kept(response.head))
    case .failure(let error, let lastKnown):
      let known = lastKnown.map { ["the stored response is from \(Words.age($0.age))"] } ?? []
      // The error and its remedy are never cut off.
      return line("failure", "31", [error.message] + (error.advice.map { [$0] } ?? []) + known, isCut: false)
    }
  }

  private func size(_ head: DataService.ResponseHead) -> [String] {
    head.bodyLength.map { [Words.size($0)] } ?? []
  }

  private func kept(_ head: DataService.ResponseHead) -> [String] {
    if case .no(let reason) = head.kept { ["not kept: \(reason.name)"] } else { [] }
  }

  private func line(_ kind: String, _ colour: String, _ parts: [String], isCut: Bool = true) -> String {
    let name = kind + String(repeating: " ", count: max(0, 8 - kind.count))
    let (text, room) = (TerminalText.visible(parts.joined(separator: " · ")), max(10, width - 9))
    var lines = isCut ? [Columns.cut(text, to: room)] : Columns.wrapped(text, to: room)
    if let url = url.map(TerminalText.visible) {
      // The URL tells the deliveries of several loads apart, so it is shown however narrow the window.
      if lines.count == 1, text.count + 3 + url.count <= room {
        lines[0] += " · " + url
      } else {
        lines.append(Columns.end(of: url, to: room))
      }
    }
    let fitting = lines.joined(separator: "\n" + Columns.pad("", to: 9))
    return hasColour ? "\u{1B}[1;\(colour)m\(name)\u{1B}[0m \(fitting)\n" : "\(name) \(fitting)\n"
  }
}
