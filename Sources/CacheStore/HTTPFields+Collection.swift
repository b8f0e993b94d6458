/// The fields one after another, in the order in which they stand on the wire. Each step reads one line.
extension HTTPFields: Collection {
  /// Where a field stands.
  public struct Index: Sendable, Hashable, Comparable {
    /// Where its line begins, in bytes.
    let offset: Int

    /// Whether the first stands before the second.
    public static func < (first: Index, second: Index) -> Bool { first.offset < second.offset }
  }

  /// The first field.
  public var startIndex: Index { Index(offset: lineOfField(from: 0)) }

  /// Behind the last field.
  public var endIndex: Index { Index(offset: wire.count) }

  /// The next field.
  public func index(after index: Index) -> Index {
    Index(offset: lineOfField(from: lineEnd(from: index.offset)))
  }

  /// The field that stands there.
  public subscript(position: Index) -> Field {
    precondition(position.offset < wire.count, "there is no field behind the last one")
    return wire.withUnsafeBufferPointer { bytes in
      let line = FieldLine(.init(rebasing: bytes[position.offset..<lineEnd(from: position.offset)]))
      guard let line else { preconditionFailure("an index of other fields") }
      return line.field
    }
  }

  /// Behind the line that begins there.
  private func lineEnd(from offset: Int) -> Int {
    (wire[offset...].firstIndex(of: 0x0A) ?? wire.count - 1) + 1
  }

  /// Where the next line begins that is a field; behind all where there is none.
  private func lineOfField(from offset: Int) -> Int {
    var start = offset
    while start < wire.count {
      let end = lineEnd(from: start)
      if wire[start..<end].contains(0x3A) { return start }
      start = end
    }
    return wire.count
  }
}
