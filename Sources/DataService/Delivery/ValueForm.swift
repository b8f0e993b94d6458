internal import FoundationEssentials

/// What a form of load makes of a body.
enum ValueForm<Value: Sendable>: Sendable {
  /// The body as a stream.
  case streamed(@Sendable (DataService.BodyStream) -> Value)
  /// The body in memory, through a decoder; `canRefuse` where the decoder may throw.
  case whole(canRefuse: Bool, @Sendable (DataService.Response<Data>) throws -> Value)

  /// Whether the body has to be in memory.
  var needsWhole: Bool {
    if case .whole = self { return true }
    return false
  }

  /// Whether a decoder may refuse the answer.
  var canRefuse: Bool {
    if case .whole(true, _) = self { return true }
    return false
  }
}

extension ValueForm where Value == Data {
  /// The bytes as they are.
  static var data: ValueForm<Data> { .whole(canRefuse: false) { $0.value } }
}

extension ValueForm where Value == DataService.BodyStream {
  /// The body as a stream.
  static var stream: ValueForm<DataService.BodyStream> { .streamed { $0 } }
}
