/// What docs/command.md says of a case in "What is printed", by section. Knows nothing of the sources.
struct PrintedModel {
  /// A line that is compared whole, or by what has to stand in it.
  enum Line: Hashable, CustomStringConvertible {
    case whole(String)
    case containing([String])

    func matches(_ line: String) -> Bool {
      switch self {
      case .whole(let text): line == text
      case .containing(let parts): parts.allSatisfy { line.contains($0) }
      }
    }

    var description: String {
      switch self {
      case .whole(let text): "“\(text)”"
      case .containing(let parts): "… \(parts.joined(separator: " … ")) …"
      }
    }
  }

  struct Expectation {
    /// Standard output; heads as `<200>` or `<200 stored>`, objects as `stored 200 BODY`.
    var output = ""
    /// For a terminal: both streams.
    var screen: [Line] = []
    var file = PrintedBody.before
    var errors: [Line] = []
    var status: Int32 = 0
    var exchanges = 0...0
  }

  private enum Change: String { case new, changed, unchanged }

  private enum Delivery {
    case stored
    case fresh(status: Int, body: String, Change, isPortal: Bool)
    case failure(saying: String)
  }

  private let asked: PrintedCase
  private let url: String
  private var result = Expectation()
  private var isStoredHeld = false
  private var wasStoredShown = false
  private var hasShown = false

  init(_ asked: PrintedCase, url: String) {
    self.asked = asked
    self.url = url
  }

  static func expectation(of asked: PrintedCase, url: String) -> Expectation {
    var model = PrintedModel(asked, url: url)
    return model.expectation()
  }

  private mutating func expectation() -> Expectation {
    if isRefused {
      result.status = 64
      say(["--print"])
      return result
    }
    let deliveries = deliveries
    result.status = status(of: deliveries)
    result.exchanges = exchanges
    for delivery in deliveries { take(delivery) }
    end()
    return result
  }

  // MARK: - What a load delivers

  private var hasRow: Bool { asked.state.row != .nothing }

  private var asksServer: Bool {
    switch asked.policy {
    case .offline: false
    case .maxAge, .http: asked.state.row != .fresh
    case .standard, .freshOnly, .deadline: true
    }
  }

  private var deliveries: [Delivery] {
    switch asked.policy {
    case .offline: hasRow ? [.stored] : [.failure(saying: "nothing is stored for")]
    case .standard: (hasRow ? [.stored] : []) + [answer]
    case .freshOnly: [answer]
    case .maxAge where !asksServer, .http where !asksServer: [.stored]
    case .deadline, .maxAge: falling(back: hasRow)
    case .http: falling(back: hasRow && [.down, .cutOff, .slow].contains(asked.state.answer))
    }
  }

  private func falling(back mayFallBack: Bool) -> [Delivery] {
    if mayFallBack, case .failure = answer { return [.stored, answer] }
    return [answer]
  }

  /// What the server says is.
  private var answer: Delivery {
    let change = hasRow ? Change.changed : .new
    let isHTTP = asked.policy == .http
    switch asked.state.answer {
    case .notModified, .same:
      return .fresh(status: 200, body: PrintedBody.stored, .unchanged, isPortal: false)
    case .changed, .noStore, .redirect:
      return .fresh(status: 200, body: PrintedBody.fresh, change, isPortal: false)
    case .notFound: return .fresh(status: 404, body: PrintedBody.error, change, isPortal: false)
    case .unavailable where hasRow && !isHTTP && asked.policy != .freshOnly:
      return .failure(saying: "answered 503")
    case .unavailable: return .fresh(status: 503, body: PrintedBody.error, change, isPortal: false)
    case .portal where isHTTP: return .fresh(status: 200, body: PrintedBody.portal, change, isPortal: true)
    case .portal: return .failure(saying: "captive portals")
    case .otherType: return .failure(saying: "not accepted")
    case .down: return .failure(saying: "refused")
    case .cutOff: return .failure(saying: "cut off")
    case .slow: return .failure(saying: "")
    }
  }

  private var exchanges: ClosedRange<Int> {
    switch asked.state.answer {
    case _ where !asksServer: 0...0
    case .down: 0...0
    case .redirect, .portal: 2...2
    // On a busy machine the time may be over before the request is on its way.
    case .slow: 0...1
    default: 1...1
    }
  }

  // MARK: - What --print shows

  private var isRefused: Bool {
    switch (asked.print, asked.policy) {
    case (.fresh, .offline), (.changed, .offline), (.stored, .freshOnly): true
    case (.none, _): asked.form == .file
    default: false
    }
  }

  /// Whether what is stored is delivered in place of an error's page, though the policy does not deliver both.
  private var isBroughtOut: Bool { hasRow && [.deadline, .maxAge].contains(asked.policy) }

  /// Whether `--one` says what is printed, and not the exit status alone.
  private var isOne: Bool { asked.print == .one && asked.form != .json && asked.form != .file }

  private var print: PrintedCase.Print { asked.print == .one ? isOne ? .last : .both : asked.print }

  /// Whether a fresh response is kept from standard output, or from the file.
  private func isWithheld(status: Int, isPortal: Bool) -> Bool {
    if asked.form == .file || isOne { return status >= 400 || isPortal }
    return asked.form == .fail && status >= 400
  }

  private mutating func take(_ delivery: Delivery) {
    switch delivery {
    case .stored:
      isStoredHeld = print == .last
      if [.both, .stored].contains(print) { show(delivery) }
    case .fresh(let status, _, let change, let isPortal):
      let isLeft = asked.form == .file && (status >= 400 || isPortal)
      let isHidden = isWithheld(status: status, isPortal: isPortal)
      let isRepeated = change == .unchanged && wasStoredShown
      if isHidden, isStoredHeld || isBroughtOut && [.both, .stored, .last].contains(print) {
        show(.stored)
        introduce(delivery)
      } else {
        switch print {
        case .last where isOne && isHidden: introduce(delivery)
        case .both where !isRepeated || asked.form == .json: show(delivery)
        case .changed where change != .unchanged: show(delivery)
        case .both, .changed: introduce(delivery)
        case .fresh, .last: show(delivery)
        case .stored, .none, .one: break
        }
      }
      isStoredHeld = false
      if isLeft {
        let content = wasStoredShown ? "has the stored response" : "is left as it is"
        say([isPortal ? "captive portals" : "answered \(status)", "“out” \(content)"])
      } else if isHidden {
        let rest = wasStoredShown ? "the stored response is printed instead" : "its body is not printed"
        say([isPortal ? "captive portals" : "answered \(status)", rest])
      } else if asked.print == .one, status >= 400 {
        say(["answered \(status)"])
      }
    case .failure(let saying):
      if isStoredHeld { show(.stored) }
      isStoredHeld = false
      introduce(delivery)
      say([saying], isFailure: true)
      let isObjectShown =
        switch print {
        case .both, .fresh, .changed: true
        case .last, .stored: !hasShown
        case .none, .one: false
        }
      if asked.form == .json, isObjectShown {
        result.output += "failure\n"
        hasShown = true
      }
    }
  }

  private mutating func end() {
    if isStoredHeld { show(.stored) }
    if result.status == 0, !hasShown, isLeftOut {
      say(["--print \(asked.print.rawValue) printed nothing"])
    }
  }

  /// Whether it has to be said why nothing is printed.
  private var isLeftOut: Bool {
    switch print {
    case .stored, .fresh: true
    case .changed: !asksServer
    default: false
    }
  }

  // MARK: - Where it goes

  private mutating func show(_ delivery: Delivery) {
    introduce(delivery)
    hasShown = true
    let (status, body, isStored, isPortal): (Int, String, Bool, Bool)
    switch delivery {
    case .stored: (status, body, isStored, isPortal) = (200, PrintedBody.stored, true, false)
    case .fresh(let code, let text, _, let portal):
      (status, body, isStored, isPortal) = (code, text, false, portal)
    case .failure: return
    }
    if isStored { wasStoredShown = true }
    switch asked.form {
    case .pipe: result.output += body
    case .fail: result.output += status < 400 ? body : ""
    case .file: if status < 400, !isPortal { result.file = body }
    case .json: result.output += "\(isStored ? "stored" : "fresh") \(status) \(body)\n"
    case .include:
      if !result.output.isEmpty { result.output += "\n" }
      result.output += isStored ? "<\(status) stored>" : "<\(status)>"
      result.output += body
    case .terminal: result.screen.append(.whole(body))
    }
  }

  /// The line that introduces a delivery on a terminal.
  private mutating func introduce(_ delivery: Delivery) {
    guard asked.form == .terminal else { return }
    switch delivery {
    case .stored: result.screen.append(.containing(["stored   200 OK · "]))
    case .fresh(let status, _, let change, _):
      result.screen.append(.containing(["fresh    \(status) ", " · \(change.rawValue)"]))
    case .failure(let saying): result.screen.append(.containing(["failure  ", saying]))
    }
  }

  // MARK: - How it ends

  private func status(of deliveries: [Delivery]) -> Int32 {
    let hasStored = deliveries.contains { if case .stored = $0 { true } else { false } }
    switch deliveries.last {
    case .failure: return hasStored ? 3 : 4
    case .fresh(let status, _, _, let isPortal):
      let isFailure = asked.print == .one && status >= 400
      guard isFailure || isWithheld(status: status, isPortal: isPortal) else { return 0 }
      return hasStored || isBroughtOut && isWithheld(status: status, isPortal: isPortal) ? 3 : 22
    case .stored, nil: return 0
    }
  }

  // MARK: - What is said

  private mutating func say(_ parts: [String], isFailure: Bool = false) {
    let isNamed = !isRefused && parts != ["nothing is stored for"]
    let line = Line.containing(["cachefetch: \(isNamed ? "\(url): " : "")"] + parts)
    if asked.form != .terminal {
      result.errors.append(line)
    } else if !isFailure {
      result.screen.append(line)
    }
  }
}
