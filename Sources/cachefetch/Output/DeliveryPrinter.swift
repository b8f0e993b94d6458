internal import DataService

/// Shows deliveries as bodies, with heads or as JSON Lines, on standard output or in the file of `-o`. If standard
/// error is a terminal, a heading introduces each.
struct DeliveryPrinter {
  typealias Delivery = DataService.Delivery<DataService.BodyStream>
  typealias Response = DataService.Response<DataService.BodyStream>

  /// The form that the options choose.
  struct Form {
    var isJSON = false
    var includesHead = false
    /// `-I`: only heads are requested.
    var isHeadOnly = false
    /// `--fail` or `--fail-with-body`: a status of 400 or more is a failure.
    var failsOnStatus = false
    /// `--fail`: the body of such a response is not printed.
    var hidesFailedBody = false
    /// `--one`: nothing on standard output that is an error; one body, unless `--print` says otherwise.
    var isOne = false
    /// `-o FILE`; `-o -` is `insistsOnBytes`.
    var file: ReplacedFile?
    var insistsOnBytes = false
    /// Whether several URLs are loaded, so that headings name theirs.
    var namesURLs = false

    init() {}

    /// Reads the options that all printing verbs share.
    init(_ arguments: Arguments) throws(UsageError) {
      isJSON = arguments.has(.json)
      isHeadOnly = arguments.has(.head)
      includesHead = arguments.has(.include) || isHeadOnly
      hidesFailedBody = arguments.has(.fail)
      failsOnStatus = hidesFailedBody || arguments.has(.failWithBody) || arguments.has(.one)
      namesURLs = arguments.operands.count > 1
      if let path = arguments.text(.output) {
        insistsOnBytes = path == "-"
        file = path == "-" ? nil : try ReplacedFile(path)
      }
      // With these it changes the exit status alone.
      isOne = arguments.has(.one) && !isJSON && file == nil
      if isJSON, arguments.has(.include) {
        throw UsageError(
          "--json and -i cannot be combined", "leave -i out: --json has the headers in \"fields\"")
      }
      if hidesFailedBody, arguments.has(.failWithBody) {
        throw UsageError(
          "-f and --fail-with-body exclude each other",
          "-f leaves an error's body out, --fail-with-body prints it")
      }
    }
  }

  let form: Form
  let diagnostics: Diagnostics
  private var printer: BodyPrinter
  /// Whether the file of `-o` has a response of this load.
  private(set) var wasFileWritten = false

  init(_ form: Form, diagnostics: Diagnostics, output: OutputDescriptor = .standardOutput) {
    self.form = form
    self.diagnostics = diagnostics
    // Under `--json` too: the objects act on no terminal, but the text of `-w` might.
    let isTerminal = diagnostics.terminal.isOutput && !form.insistsOnBytes
    printer = BodyPrinter(
      isTerminal: isTerminal, hasColour: diagnostics.terminal.hasColour, diagnostics: diagnostics,
      output: output)
  }

  /// Shows a stored or fresh delivery: heading, head, body.
  /// - Returns: How many bytes of body were written; `nil` if the body was not read.
  @discardableResult
  mutating func show(
    _ delivery: Delivery, _ response: Response, as line: DeliveryLine
  ) throws(BodyError) -> Int64? {
    showHeading(delivery, line)
    return form.isJSON ? try showLine(delivery, response, line) : try showBody(delivery, response)
  }

  /// Reports a failure on standard error, and what stands in.
  func say(_ error: DataServiceError, _ delivery: Delivery, as line: DeliveryLine, standIn: String? = nil) {
    if diagnostics.terminal.isError, !diagnostics.isQuiet {
      showHeading(delivery, line)
    } else {
      diagnostics.say(error, of: line, standIn: standIn)
    }
  }

  /// Writes a failure's JSON object.
  mutating func showFailure(_ delivery: Delivery, as line: DeliveryLine) throws(OutputError) {
    try printer.write(line.bytes(delivery, body: .none))
  }

  /// Writes a head alone.
  mutating func showHead(_ bytes: [UInt8]) throws(OutputError) { try printer.printHead(bytes) }

  /// Writes the text that `-w` asks for.
  mutating func showText(_ bytes: [UInt8]) throws(OutputError) { try printer.printText(bytes) }

  /// The line on a terminal's standard error.
  func showHeading(_ delivery: Delivery, _ line: DeliveryLine) {
    guard diagnostics.terminal.isError, !diagnostics.isQuiet else { return }
    let heading = Heading(
      url: form.namesURLs ? line.url : nil, width: Terminal.width(of: 2),
      hasColour: diagnostics.terminal.hasColour)
    diagnostics.show(heading.line(delivery))
  }

  /// Whether the body is not shown: `--fail` hides it, or it must not go into the file of `-o`.
  func withholds(_ response: Response) -> Bool { hidesBody(of: response) || leavesFile(response) }

  /// Whether there is a file and the response must not go into it.
  func leavesFile(_ response: Response) -> Bool {
    form.file != nil && !PrintRule.isAnswer(status: response.status, kept: response.kept)
  }

  private func hidesBody(of response: Response) -> Bool {
    if form.isOne { return !PrintRule.isAnswer(status: response.status, kept: response.kept) }
    return form.hidesFailedBody && response.status >= 400
  }

  private func head(_ delivery: Delivery, _ response: Response) -> [UInt8] {
    guard form.includesHead else { return [] }
    let isStored = if case .stored = delivery { true } else { false }
    return HeadText.bytes(response.head, isStored: isStored)
  }

  private mutating func showBody(_ delivery: Delivery, _ response: Response) throws(BodyError) -> Int64? {
    if form.file != nil { return try write(delivery, response) }
    if form.includesHead {
      do { try printer.printHead(head(delivery, response)) } catch { throw .output(error) }
    }
    return form.isHeadOnly || hidesBody(of: response) ? nil : try printer.printBody(response)
  }

  private mutating func showLine(
    _ delivery: Delivery, _ response: Response, _ line: DeliveryLine
  ) throws(BodyError) -> Int64? {
    var body = DeliveryLine.Body.omitted(response.head.bodyLength)
    var count = try write(delivery, response)
    if form.isHeadOnly {
      body = .none
    } else if !hidesBody(of: response), form.file == nil || leavesFile(response) {
      let (bytes, length) = try BodyPieces(stream: response.value).collected(limit: DeliveryLine.largestBody)
      body = bytes.map { .bytes($0) } ?? .omitted(length)
      count = length
    }
    do { try printer.write(line.bytes(delivery, body: body)) } catch { throw .output(error) }
    return count
  }

  /// Writes the response to the file of `-o`, unless it must not go there or is there already.
  private mutating func write(_ delivery: Delivery, _ response: Response) throws(BodyError) -> Int64? {
    guard let file = form.file, !leavesFile(response) else { return nil }
    // A 304 to the caller's own condition: what that stands for is better than no body.
    if response.status == 304, !form.isHeadOnly { return nil }
    if case .fresh(_, .unchanged) = delivery, wasFileWritten, !form.isHeadOnly { return nil }
    let count = try file.replace(
      head: head(delivery, response), with: form.isHeadOnly ? nil : BodyPieces(stream: response.value))
    wasFileWritten = true
    return count
  }
}
