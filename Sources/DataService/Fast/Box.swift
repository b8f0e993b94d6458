/// Stores an immutable value of many parts behind one reference. Copying the value itself, as ``PlainBox`` does,
/// would retain each part.
final class Box<Value: Sendable>: Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

/// The plain form of ``Box``.
struct PlainBox<Value: Sendable>: Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
