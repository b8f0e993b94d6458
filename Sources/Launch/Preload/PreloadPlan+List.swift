public import DataService
public import PlatformFoundation

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
