/// Stores an immutable value of many parts behind one reference. Copying the value itself would retain
/// each part.
final class Box<Value: Sendable>: Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
