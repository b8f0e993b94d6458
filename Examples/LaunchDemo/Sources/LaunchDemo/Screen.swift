import Launch

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A terminal as a screen: a splash that is redrawn in its line, and a list that is redrawn in its place.
struct Screen {
  /// How many lines the list has on the screen, the line for commands included; 0 while it is not shown.
  private var listLines = 0
  private var hasBar = false

  private func put(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
      guard written > 0 else { return }
      rest = rest.dropFirst(written)
    }
  }

  /// The splash: an indeterminate bar while nothing is known.
  mutating func splash(_ progress: PreloadProgress?) {
    let width = 30
    let filled = progress?.fraction.map { Int($0 * Double(width)) }
    let bar = filled.map { String(repeating: "#", count: $0) + String(repeating: " ", count: width - $0) }
    put("\r[" + (bar ?? String(repeating: ".", count: width)) + "] \(progress?.currentStep ?? "")\u{1B}[K")
    hasBar = true
    listLines = 0
  }

  mutating func login(_ reason: LaunchRoot.LoginReason) {
    endBar()
    switch reason {
    case .signedOut(.noCredential): break
    case .signedOut(.requested): put("Signed out.\n")
    case .signedOut(.unreadable(let message)): put("The credential cannot be read: \(message)\n")
    case .expired(let account): put("The session of \(account) has expired.\n")
    }
    put("Name: ")
  }

  mutating func prompt(_ prompt: FailurePrompt) {
    endBar()
    let choices = prompt.choices.map { choice in
      switch choice {
      case .retry: "[r]etry"
      case .continueWithStored: "[c]ontinue with stored"
      case .quit: "[q]uit"
      }
    }
    put("\(prompt.title)\n\(prompt.message)\n\(choices.joined(separator: "  "))? ")
  }

  mutating func blocked(_ reason: String) {
    endBar()
    put("\(reason)\n")
  }

  /// The list, over the one that is shown already.
  mutating func list(_ items: [String], title: String) {
    endBar()
    if listLines > 0 { put("\r\u{1B}[\(listLines)A\u{1B}[J") }
    put("\(title)\n" + items.map { "  * \(Self.plain($0))\n" }.joined())
    put("[r]efresh  [o] sign out  [q]uit\n")
    listLines = items.count + 2
  }

  /// One line below what is shown.
  mutating func notice(_ text: String) {
    endBar()
    put("\(Self.plain(text))\n")
    if listLines > 0 { listLines += 1 }
  }

  /// The person has typed a line, which is on the screen too.
  mutating func typed() { if listLines > 0 { listLines += 1 } }

  private mutating func endBar() {
    if hasBar { put("\r\u{1B}[K") }
    hasBar = false
  }

  /// What an origin sends does not act on the terminal.
  private static func plain(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.filter { $0.properties.generalCategory != .control }))
  }
}
