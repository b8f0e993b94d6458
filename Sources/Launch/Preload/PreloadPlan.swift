public import DataService
public import PlatformFoundation

/// The loads needed before the first screen, how long they may take, and when they suffice.
///
/// ```swift
/// var plan = PreloadPlan([
///   PreloadStep("feed", DataService.Request(feedURL), as: Feed.self),
///   PreloadStep("advert", DataService.Request(advertURL), isCritical: false),
/// ])
/// plan.deadline = .seconds(3)
/// plan.readiness = .storedIsEnough
/// ```
public struct PreloadPlan: Sendable {
  /// When a launch has what it needs.
  public enum Readiness: String, Sendable, Hashable, CaseIterable {
    /// Every step is fresh.
    case allFresh = "all-fresh"
    /// Every critical step is fresh; optional ones delay nothing.
    case criticalFresh = "critical-fresh"
    /// Every critical step is at least stored; optional ones delay nothing.
    case storedIsEnough = "stored-is-enough"
  }

  /// What happens if a step the launch waits for fails, or the deadline passes.
  public enum FailureRule: Sendable, Hashable {
    /// The caller is asked with a ``FailurePrompt``, and the run waits for the answer.
    case ask
    /// Failed steps are retried this many times before the deadline; then the run uses what is stored.
    case retry(Int)
    /// The run uses what is stored.
    case useStored
    /// The run ends with the first failure, or at the deadline; the steps still missing are cancelled.
    case fail
  }

  /// The steps, in the order in which they are started; names are unique.
  public let steps: [PreloadStep]
  /// How long the run may take before its outcome, or its prompt; `nil` leaves that to the requests' own limits.
  public var deadline: Duration?
  /// When the launch has what it needs.
  public var readiness = Readiness.criticalFresh
  /// What happens if it does not get that.
  public var onFailure = FailureRule.useStored
  /// How many steps may be under way at once. Of their exchanges as many are as the service's limits allow: by default
  /// six with a host, or fifty where it speaks HTTP/2.
  public var parallelism = 50
  /// A stored response no older than this counts as fresh and is not requested again.
  public var maxAge: Duration?
  /// Whether steps still missing at the outcome are loaded into the store afterwards; otherwise they are cancelled, as
  /// they always are after the verdict `quit`.
  public var finishesIntoStore = true

  /// Whether the run reports progress. A caller that shows none saves the wake-ups.
  public var reportsProgress = true

  /// A plan of steps, whose names must differ.
  public init(_ steps: [PreloadStep]) {
    precondition(Set(steps.map(\.name)).count == steps.count, "the names of a plan's steps differ")
    self.steps = steps
  }

  var policy: FetchPolicy { maxAge.map { .storedElseFresh(maxAge: $0) } ?? .storedThenFresh }
}

/// Why a plan or a list of URLs could not be read.
public struct PlanError: Error, Hashable, CustomStringConvertible {
  /// The line that is wrong, counted from 1, if known.
  public let line: Int?
  /// What is wrong with it.
  public let message: String

  /// Makes an error for a caller's own URL reader.
  public init(_ message: String) { self.init(line: nil, message) }

  init(line: Int?, _ message: String) {
    self.line = line
    self.message = message
  }

  /// The message after its line, as `line 3: …`.
  public var description: String { line.map { "line \($0): \(message)" } ?? message }
}

extension PreloadPlan {
  /// Makes a plan with one step for each line: its URL, which is also the step's name. Empty lines and lines that begin
  /// with `#` are skipped, as is a byte-order mark before the first, and a repeated URL is requested once.
  ///
  /// The steps only bring the store up to date (``PreloadStep/storing(_:_:weight:isCritical:)``).
  ///
  /// - Parameters:
  ///   - text: The lines.
  ///   - makeRequest: Makes the request of a URL.
  ///   - readURL: Reads a line as a URL; see ``url(_:)``.
  /// - Throws: ``PlanError`` naming the first line that is not an `http` or `https` URL.
  public init(
    list text: String,
    makeRequest: (URL) -> DataService.Request = { DataService.Request($0) },
    readURL: (String) throws(PlanError) -> URL = PreloadPlan.url
  ) throws(PlanError) {
    var steps: [PreloadStep] = []
    var seen: Set<String> = []
    for (index, line) in Self.lines(text).enumerated() {
      let line = line.trimmed
      guard !line.isEmpty, !line.hasPrefix("#") else { continue }
      let url: URL
      do throws(PlanError) { url = try readURL(line) } catch {
        throw PlanError(line: index + 1, error.message)
      }
      guard seen.insert(line).inserted else { continue }
      steps.append(.storing(line, makeRequest(url)))
    }
    self.init(steps)
  }

  /// The lines of a text, including empty ones. Splitting by bytes takes a third of the time of splitting by
  /// characters. CR LF is one line end.
  private static func lines(_ text: String) -> [Substring] {
    var lines: [Substring] = []
    let hasMark = text.utf8.starts(with: [0xEF, 0xBB, 0xBF])
    var start = text.utf8.index(text.utf8.startIndex, offsetBy: hasMark ? 3 : 0)
    var index = start
    while index < text.utf8.endIndex {
      let byte = text.utf8[index]
      var next = text.utf8.index(after: index)
      if byte == 0x0D, next < text.utf8.endIndex, text.utf8[next] == 0x0A {
        next = text.utf8.index(after: next)
      }
      if (0x0A...0x0D).contains(byte) {
        lines.append(text[start..<index])
        start = next
      }
      index = next
    }
    return lines + [text[start...]]
  }
}

extension PreloadPlan {
  /// Reads a URL of a plan or list, unless the caller has its own reader: `http` or `https` with a host. A URL that is
  /// not ASCII is encoded if Foundation can encode it, and refused otherwise.
  public static func url(_ text: String) throws(PlanError) -> URL {
    guard let url = URL(string: URLText.encoded(text)), let scheme = url.scheme?.lowercased() else {
      throw PlanError("“\(shown(text))” is not a URL")
    }
    guard scheme == "http" || scheme == "https", let host = url.host(percentEncoded: false), !host.isEmpty
    else {
      throw PlanError("“\(shown(text))” is not an http or https URL with a host")
    }
    guard host.utf8.allSatisfy({ $0 < 0x80 }) else {
      throw PlanError("the host of “\(shown(text))” is not in ASCII, where it begins with xn--")
    }
    return url
  }

  /// The beginning of an arbitrary line, without control characters and secrets.
  private static func shown(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        ShownURL.text(text).unicodeScalars.prefix(80).filter { $0.value >= 0x20 && $0.value != 0x7F })
    )
  }
}

extension Substring {
  fileprivate var trimmed: String {
    let start = drop(while: \.isWhitespace)
    guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(start[...end])
  }
}
