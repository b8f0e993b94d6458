internal import DataService

/// How deliveries are shown: as bodies, with heads or as JSON Lines, on standard output or in the file of `-o`, each
/// introduced by a heading where standard error is a terminal.
struct DeliveryPrinter {
  typealias Delivery = DataService.Delivery<DataService.BodyStream>
  typealias Response = DataService.Response<DataService.BodyStream>

  /// What the options ask for.
  struct Form {
    var isJSON = false
    var includesHead = false
    /// `-I`: the head is all there is.
    var isHeadOnly = false
    /// `--fail`: no body where the status is 400 or more.
    var failsOnStatus = false
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
      failsOnStatus = arguments.has(.fail)
      namesURLs = arguments.operands.count > 1
      if let path = arguments.text(.output) {
        insistsOnBytes = path == "-"
        file = path == "-" ? nil : try ReplacedFile(path)
      }
      if isJSON, arguments.has(.include) {
        throw UsageError(
          "--json and -i exclude each other", "leave -i out: --json has the head in \"fields\"")
      }
    }
  }

  let form: Form
  let diagnostics: Diagnostics
  /// Whether bodies go to a terminal, where they are made legible and harmless.
  let showsOnTerminal: Bool
  private let printer: BodyPrinter
  private var wasFileWritten = false

  init(_ form: Form, diagnostics: Diagnostics) {
    self.form = form
    self.diagnostics = diagnostics
    let isTerminal = diagnostics.terminal.isOutput && !form.insistsOnBytes && !form.isJSON
    showsOnTerminal = isTerminal && form.file == nil
    printer = BodyPrinter(
      isTerminal: isTerminal, hasColour: diagnostics.terminal.hasColour, diagnostics: diagnostics)
  }

  /// Shows a stored or fresh delivery: heading, head, body.
  mutating func show(_ delivery: Delivery, _ response: Response, as line: DeliveryLine) throws(BodyError) {
    showHeading(delivery, line)
    if form.isJSON { try showLine(delivery, response, line) } else { try showBody(delivery, response) }
  }

  /// Says a failure on standard error.
  func say(_ error: DataServiceError, _ delivery: Delivery, as line: DeliveryLine) {
    if diagnostics.terminal.isError {
      showHeading(delivery, line)
    } else {
      diagnostics.say(error, of: line)
    }
  }

  /// Writes a failure's JSON object.
  func showFailure(_ delivery: Delivery, as line: DeliveryLine) throws(OutputError) {
    try OutputDescriptor.standardOutput.write(line.bytes(delivery, body: .none))
  }

  /// Writes a head alone.
  func showHead(_ bytes: [UInt8]) throws(OutputError) { try printer.printHead(bytes) }

  /// The line on a terminal's standard error.
  func showHeading(_ delivery: Delivery, _ line: DeliveryLine) {
    guard diagnostics.terminal.isError, !diagnostics.isQuiet else { return }
    let heading = Heading(
      url: form.namesURLs ? line.url : nil, width: Terminal.width(of: 2),
      hasColour: diagnostics.terminal.hasColour)
    diagnostics.show(heading.line(delivery))
  }

  private mutating func showBody(_ delivery: Delivery, _ response: Response) throws(BodyError) {
    let isStored = if case .stored = delivery { true } else { false }
    if form.includesHead {
      do { try printer.printHead(HeadText.bytes(response.head, isStored: isStored)) } catch {
        throw .output(error)
      }
    }
    if form.isHeadOnly { return }
    if let file = form.file {
      try write(response, of: delivery, to: file)
    } else if !hidesBody(of: response) {
      try printer.printBody(response)
    }
  }

  private mutating func showLine(
    _ delivery: Delivery, _ response: Response, _ line: DeliveryLine
  ) throws(BodyError) {
    var body = DeliveryLine.Body.omitted(response.head.bodyLength)
    if let file = form.file {
      try write(response, of: delivery, to: file)
    } else if form.isHeadOnly {
      body = .none
    } else if !hidesBody(of: response) {
      let (bytes, length) = try BodyPieces(stream: response.value).collected(limit: DeliveryLine.largestBody)
      body = bytes.map { .bytes($0) } ?? .omitted(length)
    }
    do { try OutputDescriptor.standardOutput.write(line.bytes(delivery, body: body)) } catch {
      throw .output(error)
    }
  }

  private mutating func write(_ response: Response, of delivery: Delivery, to file: ReplacedFile)
    throws(BodyError)
  {
    if case .fresh(_, let change) = delivery,
      !PrintRule.replacesFile(status: response.status, change: change, wasWritten: wasFileWritten)
    {
      return
    }
    try file.replace(with: BodyPieces(stream: response.value))
    wasFileWritten = true
  }

  private func hidesBody(of response: Response) -> Bool { form.failsOnStatus && response.status >= 400 }
}
