/// A value of many parts as one reference, for what goes through many hands and does not change: each hand would otherwise
/// count the references of every part, as with ``PlainBox``.
final class Box<Value: Sendable>: Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

/// The plain form of ``Box``.
struct PlainBox<Value: Sendable>: Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
