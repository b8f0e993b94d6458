public import DataService
public import PlatformFoundation

/// One load needed before the first screen: a request, and a decoder for its response.
public struct PreloadStep: Sendable {
  /// The name of its response in the outcome; unique in a plan.
  public let name: String
  /// The request to load.
  public let request: DataService.Request
  /// Its share of the progress relative to the other steps, if lengths are unknown. Positive and finite.
  public let weight: Double
  /// Whether the first screen cannot be built without it.
  public let isCritical: Bool

  /// Whether the outcome carries its response.
  private(set) var keepsResponse = true

  /// Performs one load and reports its events.
  let run: Run
  typealias Run =
    @Sendable (
      _ source: any DeliverySource, _ policy: FetchPolicy, _ reportsProgress: Bool,
      _ report: @escaping @Sendable (StepNews) -> Void
    ) async -> Void

  /// A step whose value `decode` makes. A response that it refuses counts as a failure and leaves the stored row
  /// unchanged.
  /// - Precondition: `weight` is positive and finite; any other number ends the program.
  public init<Value: Sendable>(
    _ name: String, _ request: DataService.Request, weight: Double = 1, isCritical: Bool = true,
    decode: @escaping @Sendable (DataService.Response<Data>) throws -> Value
  ) {
    self.init(name, request, weight: weight, isCritical: isCritical) { source, policy, progress in
      source.deliveries(for: request, policy: policy, progress: progress, decode: decode)
    }
  }

  /// A step whose value is decoded from JSON.
  /// - Precondition: `weight` is positive and finite; any other number ends the program.
  public init<Value: Decodable & Sendable>(
    _ name: String, _ request: DataService.Request, as type: Value.Type, decoder: JSONDecoder = .init(),
    weight: Double = 1, isCritical: Bool = true
  ) {
    self.init(name, request, weight: weight, isCritical: isCritical) {
      try decoder.decode(type, from: $0.value)
    }
  }

  /// A step whose value is the body as `Data`.
  /// - Precondition: `weight` is positive and finite; any other number ends the program.
  public init(
    _ name: String, _ request: DataService.Request, weight: Double = 1, isCritical: Bool = true
  ) {
    self.init(name, request, weight: weight, isCritical: isCritical) { source, policy, progress in
      source.deliveries(for: request, policy: policy, progress: progress)
    }
  }

  /// A step that only updates the store: the body may have any length and is not kept in memory. The outcome has the
  /// step's result but not its response.
  /// - Precondition: `weight` is positive and finite; any other number ends the program.
  public static func storing(
    _ name: String, _ request: DataService.Request, weight: Double = 1, isCritical: Bool = true
  ) -> PreloadStep {
    var step = PreloadStep(
      name, request, weight: weight, isCritical: isCritical, ending: { await $0.withWholeBody }
    ) { source, policy, progress in
      source.streams(for: request, policy: policy, progress: progress)
    }
    step.keepsResponse = false
    return step
  }

  private typealias Begin<Value: Sendable> =
    @Sendable (
      any DeliverySource, FetchPolicy, (@Sendable (DataService.TransferProgress) -> Void)?
    ) -> DataService.Deliveries<Value>

  private init<Value: Sendable>(
    _ name: String, _ request: DataService.Request, weight: Double, isCritical: Bool,
    ending: (@Sendable (DataService.Delivery<Value>) async -> DataService.Delivery<Value>)? = nil,
    begin: @escaping Begin<Value>
  ) {
    precondition(weight > 0 && weight.isFinite, "a weight is a positive number")
    self.name = name
    self.request = request
    self.weight = weight
    self.isCritical = isCritical
    run = { source, policy, reportsProgress, report in
      // Those whose bodies still arrive.
      let (unended, held) = AsyncStream.makeStream(of: DataService.Delivery<Value>.self)
      var progress: (@Sendable (DataService.TransferProgress) -> Void)?
      if reportsProgress { progress = { report(.received($0.received, expected: $0.expected)) } }
      for await delivery in begin(source, policy, progress) {
        if ending != nil, delivery.isUnstored { held.yield(delivery) } else { report(StepNews(delivery)) }
      }
      held.finish()
      guard let ending else { return }
      for await delivery in unended { report(StepNews(await ending(delivery))) }
    }
  }
}

extension DataService.Delivery {
  /// Whether it is a fresh one that is not in the store, so that its body may still arrive.
  fileprivate var isUnstored: Bool {
    if case .fresh(let response, _) = self, response.kept != .yes { true } else { false }
  }
}

extension DataService.Delivery<DataService.BodyStream> {
  /// The same once its body has arrived, or the failure where it breaks off.
  fileprivate var withWholeBody: Self {
    get async {
      guard case .fresh(let response, _) = self else { return self }
      do throws(DataServiceError) {
        while try await response.value.next() != nil {}
        return self
      } catch {
        return .failure(error, lastKnown: nil)
      }
    }
  }
}

/// An event of a step's load, whatever the type of its value.
enum StepNews: Sendable {
  case received(Int64, expected: Int64?)
  case stored(any Sendable, bytes: Int64?)
  case fresh(any Sendable, DataService.Change, DataService.Kept, bytes: Int64?)
  case failed(DataServiceError)

  init<Value: Sendable>(_ delivery: DataService.Delivery<Value>) {
    switch delivery {
    case .stored(let response):
      self = .stored(response, bytes: response.head.bodyLength)
    case .fresh(let response, let change) where response.status < 400:
      self = .fresh(response, change, response.kept, bytes: response.head.bodyLength)
    case .fresh(let response, _):
      // An error page may inform a person, but no screen can be built from it.
      let port = response.url.port.map { ":\($0)" } ?? ""
      let server = response.url.host().map { ($0.contains(":") ? "[\($0)]" : $0) + port } ?? "the server"
      self = .failed(
        DataServiceError(.status, "\(server) answered \(response.head.statusText)", status: response.status))
    case .failure(let error, _):
      self = .failed(error)
    }
  }
}
