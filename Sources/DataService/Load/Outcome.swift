/// What making something came to.
///
/// Says what `Result` says, on the way of every delivery: the first use of a `Result` with an error of one's own makes the
/// runtime search every conformance of the program, which takes a tenth of a millisecond (docs/performance.md).
enum Outcome<Value: Sendable>: Sendable {
  case success(Value)
  case failure(DataServiceError)

  func map<Other: Sendable>(_ transform: (Value) -> Other) -> Outcome<Other> {
    switch self {
    case .success(let value): .success(transform(value))
    case .failure(let error): .failure(error)
    }
  }

  func get() throws(DataServiceError) -> Value {
    switch self {
    case .success(let value): return value
    case .failure(let error): throw error
    }
  }
}
