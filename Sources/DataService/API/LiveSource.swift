internal import PlatformFoundation

/// A live sequence's request, service and refetch rules.
struct LiveSource<Value: Sendable>: Sendable {
  let service: DataService
  let request: DataService.Request
  let policy: FetchPolicy
  let refetch: Set<DataService.Refetch>
  let form: ValueForm<WholeValue<Value>>

  /// The decoder's value together with the body, by which responses are compared; `canRefuse` if the decoder may throw.
  static func form(
    canRefuse: Bool, _ decode: @escaping @Sendable (DataService.Response<Data>) throws -> Value
  ) -> ValueForm<WholeValue<Value>> {
    .whole(canRefuse: canRefuse) { WholeValue(value: try decode($0), data: $0.value) }
  }

  /// The deliveries of the first load, or of a later one: by then what is stored has been delivered, and under `http` RFC 9111
  /// decides whether the origin is asked.
  func deliveries(isFirst: Bool) -> DataService.Deliveries<WholeValue<Value>> {
    let again: FetchPolicy = policy == .http ? .http : .freshOnly
    return service.sequence(request, policy: isFirst ? policy : again, form: form)
  }

  /// The shortest of the intervals; `nil` where there is none.
  var interval: Duration? {
    let all = refetch.compactMap { if case .every(let interval) = $0 { interval } else { nil } }
    return all.min().map { max($0, .seconds(1)) }
  }
}
