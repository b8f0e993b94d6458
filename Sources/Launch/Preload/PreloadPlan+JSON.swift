internal import CacheStore
public import DataService
public import PlatformFoundation

extension PreloadPlan {
  /// Reads a plan from a JSON file. Each step's value is its body as `Data`; with `inMemory: false` it has none.
  ///
  /// ```json
  /// {"deadline_ms": 3000, "readiness": "critical-fresh", "parallel": 6, "max_age_ms": 60000, "steps": [
  ///   {"name": "feed", "url": "https://news.example.com/feed", "weight": 2, "account": "alice",
  ///    "fields": {"Accept": "application/json"}, "tags": ["launch"]},
  ///   {"url": "https://news.example.com/advert", "critical": false}]}
  /// ```
  ///
  /// `steps` and each step's `url` are required; a step without a name is named by its URL. `readiness` is one of
  /// `all-fresh`, `critical-fresh` and `stored-is-enough`. Unknown names are refused, since they are most likely
  /// misspelt.
  ///
  /// - Parameters:
  ///   - json: The file's bytes.
  ///   - inMemory: Whether the steps' bodies are kept for the outcome.
  ///   - adjust: Changes a step's request before it is used.
  ///   - readURL: Reads a step's URL; see ``url(_:)``.
  /// - Throws: ``PlanError`` saying what is wrong and in which line.
  public init(
    json: Data, inMemory: Bool = true, adjust: (inout DataService.Request) -> Void = { _ in },
    readURL: (String) throws(PlanError) -> URL = PreloadPlan.url
  ) throws(PlanError) {
    do throws(Misfit) {
      try self.init(file: PlanFile.read(json), inMemory: inMemory, adjust: adjust, readURL: readURL)
    } catch {
      let lines = JSONLines(json)
      throw PlanError(line: error.path.map(lines.line) ?? lines.broken, error.message)
    }
  }

  private init(
    file: PlanFile, inMemory: Bool, adjust: (inout DataService.Request) -> Void,
    readURL: (String) throws(PlanError) -> URL
  ) throws(Misfit) {
    var steps: [PreloadStep] = []
    var names: Set<String> = []
    for (index, entry) in file.steps.enumerated() {
      let step: PreloadStep
      do throws(PlanError) {
        step = try entry.step(inMemory: inMemory, adjust: adjust, readURL: readURL)
        guard names.insert(step.name).inserted else {
          throw PlanError("the name “\(ShownURL.text(step.name))” is taken by an earlier step")
        }
      } catch {
        throw Misfit(["steps", "\(index)"], "step \(index + 1): \(error.message)")
      }
      steps.append(step)
    }
    self.init(steps)
    deadline = try file.duration("deadline_ms", file.deadlineMilliseconds)
    maxAge = try file.duration("max_age_ms", file.maxAgeMilliseconds)
    if let text = file.readiness {
      guard let readiness = Readiness(rawValue: text) else {
        let all = Readiness.allCases.map(\.rawValue).joined(separator: ", ")
        throw Misfit(["readiness"], "readiness “\(text)” is none of \(all)")
      }
      self.readiness = readiness
    }
    if let parallel = file.parallel {
      guard (1...1_000).contains(parallel) else {
        throw Misfit(["parallel"], "parallel is a number from 1 to 1000")
      }
      parallelism = parallel
    }
  }
}

/// A mistake in a plan, with its place as a path of names and indices; `nil` if the text is not JSON.
private struct Misfit: Error {
  let path: [String]?
  let message: String

  init(_ path: [String]?, _ message: String) {
    self.path = path
    self.message = message
  }
}

/// The structure of the file.
private struct PlanFile: Decodable {
  struct Entry: Decodable {
    var name: String?
    var url: String
    var weight: Double?
    var critical: Bool?
    var account: String?
    var fields: [String: String]?
    var tags: [String]?

    enum Name: String, CaseIterable, CodingKey { case name, url, weight, critical, account, fields, tags }

    init(from decoder: any Decoder) throws {
      try PlanFile.refuseOthers(than: Name.self, in: decoder)
      let values = try decoder.container(keyedBy: Name.self)
      name = try values.decodeIfPresent(String.self, forKey: .name)
      url = try values.decode(String.self, forKey: .url)
      weight = try values.decodeIfPresent(Double.self, forKey: .weight)
      critical = try values.decodeIfPresent(Bool.self, forKey: .critical)
      account = try values.decodeIfPresent(String.self, forKey: .account)
      fields = try values.decodeIfPresent([String: String].self, forKey: .fields)
      tags = try values.decodeIfPresent([String].self, forKey: .tags)
    }

    /// A name that a list can show as it is.
    private static func checked(_ name: String, _ what: String) throws(PlanError) -> String {
      if name.isEmpty { throw PlanError("\(what) has no name") }
      if name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
        throw PlanError("the name of \(what) has a line break or another control character in it")
      }
      return name
    }

    func step(
      inMemory: Bool, adjust: (inout DataService.Request) -> Void,
      readURL: (String) throws(PlanError) -> URL
    ) throws(PlanError) -> PreloadStep {
      let address = try readURL(url)
      let weight = weight ?? 1
      guard weight > 0, weight.isFinite else { throw PlanError("a weight is a positive number") }
      var request = DataService.Request(address)
      for (name, value) in (fields ?? [:]).sorted(by: { $0.key < $1.key }) {
        request.fields.append(name, value)
      }
      if let refused = request.fields.refused { throw PlanError("\(refused)") }
      if let account { request.account = .named(try Self.checked(account, "an account")) }
      for tag in tags ?? [] { request.tags.append(try Self.checked(tag, "a tag")) }
      adjust(&request)
      let isCritical = critical ?? true
      return inMemory
        ? PreloadStep(name ?? url, request, weight: weight, isCritical: isCritical)
        : .storing(name ?? url, request, weight: weight, isCritical: isCritical)
    }
  }

  var steps: [Entry]
  var deadlineMilliseconds: Int64?
  var maxAgeMilliseconds: Int64?
  var readiness: String?
  var parallel: Int?

  enum Name: String, CaseIterable, CodingKey {
    case steps, readiness, parallel
    case deadlineMilliseconds = "deadline_ms"
    case maxAgeMilliseconds = "max_age_ms"
  }

  init(from decoder: any Decoder) throws {
    try Self.refuseOthers(than: Name.self, in: decoder)
    let values = try decoder.container(keyedBy: Name.self)
    steps = try values.decode([Entry].self, forKey: .steps)
    deadlineMilliseconds = try Self.whole(values, .deadlineMilliseconds)
    maxAgeMilliseconds = try Self.whole(values, .maxAgeMilliseconds)
    readiness = try values.decodeIfPresent(String.self, forKey: .readiness)
    parallel = try Self.whole(values, .parallel).map { Int($0) }
  }

  static func read(_ json: Data) throws(Misfit) -> PlanFile {
    let file: PlanFile
    do { file = try JSONDecoder().decode(PlanFile.self, from: json) } catch { throw explain(error) }
    // The decoder lets a trailing comma pass. It also reads other encodings, and a mark before the text.
    guard json.first.map({ $0 == 0 || $0 >= 0x80 }) ?? true || JSONLines(json).broken == nil else {
      throw notJSON
    }
    return file
  }

  func duration(_ name: String, _ milliseconds: Int64?) throws(Misfit) -> Duration? {
    guard let milliseconds else { return nil }
    guard milliseconds >= 0 else { throw Misfit([name], "\(name) is negative") }
    return .milliseconds(milliseconds)
  }

  /// Reads a whole number. Asked for an integer, the decoder reports any other number without its place.
  private static func whole<Name: CodingKey>(
    _ values: KeyedDecodingContainer<Name>, _ name: Name
  ) throws -> Int64? {
    guard let number = try values.decodeIfPresent(Double.self, forKey: name) else { return nil }
    guard let whole = Int64(exactly: number), whole.magnitude <= 1 << 53 else {
      throw misfit(values.codingPath + [name], "this number is too large, or not a whole one")
    }
    return whole
  }

  private struct AnyName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private static func refuseOthers<Name: CodingKey & CaseIterable>(
    than names: Name.Type, in decoder: any Decoder
  ) throws {
    let known = Set(Name.allCases.map(\.stringValue))
    let container = try decoder.container(keyedBy: AnyName.self)
    guard let unknown = container.allKeys.first(where: { !known.contains($0.stringValue) }) else { return }
    let all = known.sorted().joined(separator: ", ")
    throw misfit(container.codingPath, "“\(unknown.stringValue)” is no name of a plan; there are \(all)")
  }

  /// Turns a decoder's error into a message for a person: where in the plan, and what is wrong.
  private static func explain(_ error: any Error) -> Misfit {
    if let misfit = error as? Misfit { return misfit }
    switch error as? DecodingError {
    case .keyNotFound(let key, let context)?:
      return misfit(context.codingPath, "“\(key.stringValue)” is missing")
    case .typeMismatch(let type, let context)?, .valueNotFound(let type, let context)?:
      return misfit(context.codingPath, "\(wanted(type)) is wanted here")
    default: return notJSON
    }
  }

  private static let notJSON = Misfit(nil, "the plan is not JSON from here on")

  /// How messages name a type that a plan needs.
  private static func wanted(_ type: any Any.Type) -> String {
    switch type {
    case is String.Type: "a text in quotation marks"
    case is Bool.Type: "true or false"
    case is Double.Type, is Int.Type, is Int64.Type: "a number"
    case is [Any].Type, is [Entry].Type, is [String].Type: "an array in brackets"
    default: "an object in braces"
    }
  }

  private static func misfit(_ path: [any CodingKey], _ message: String) -> Misfit {
    let shown = path.map { key in key.intValue.map { "\($0 + 1)" } ?? key.stringValue }
    return Misfit(
      path.map { key in key.intValue.map(String.init) ?? key.stringValue },
      shown.isEmpty ? message : shown.joined(separator: " ") + ": " + message)
  }
}
