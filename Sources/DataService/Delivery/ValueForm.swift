internal import PlatformFoundation

/// How a load turns a body into a value.
enum ValueForm<Value: Sendable>: Sendable {
  /// The body as a stream.
  case streamed(@Sendable (DataService.BodyStream) -> Value)
  /// The body in memory, through a decoder; `canRefuse` where the decoder may throw.
  case whole(canRefuse: Bool, @Sendable (DataService.Response<Data>) throws -> Value)

  /// Whether the body must be in memory.
  var needsWhole: Bool {
    if case .whole = self { return true }
    return false
  }

  /// Whether a decoder may reject the answer.
  var canRefuse: Bool {
    if case .whole(true, _) = self { return true }
    return false
  }

  /// The statuses that the load accepts; `nil` for all.
  func acceptedStatuses(for request: DataService.Request) -> ClosedRange<Int>? {
    request.acceptedStatuses ?? (canRefuse ? 200...299 : nil)
  }
}

extension ValueForm {
  /// The value that a decoder makes from the whole body, which it may reject.
  static func decoded(_ decode: @escaping @Sendable (DataService.Response<Data>) throws -> Value) -> Self {
    .whole(canRefuse: true, decode)
  }
}

extension ValueForm where Value: Decodable {
  /// The value decoded from JSON.
  static func json(_ type: Value.Type, _ decoder: JSONDecoder) -> Self {
    .decoded { try decoder.decode(type, from: $0.value) }
  }
}

extension ValueForm where Value == Data {
  /// The unchanged bytes.
  static var data: ValueForm<Data> { .whole(canRefuse: false) { $0.value } }
}

extension ValueForm where Value == DataService.BodyStream {
  /// The body as a stream.
  static var stream: ValueForm<DataService.BodyStream> { .streamed { $0 } }
}
