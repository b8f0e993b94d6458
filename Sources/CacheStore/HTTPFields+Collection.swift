/// The fields in wire order. Each step reads one line.
extension HTTPFields: Collection {
  /// The position of a field.
  public struct Index: Sendable, Hashable, Comparable {
    /// The offset of its line, in bytes.
    let offset: Int

    /// Whether the first position precedes the second.
    public static func < (first: Index, second: Index) -> Bool { first.offset < second.offset }
  }

  /// The first field.
  public var startIndex: Index { Index(offset: lineOfField(from: 0)) }

  /// The position after the last field.
  public var endIndex: Index { Index(offset: wire.count) }

  /// The position of the next field.
  public func index(after index: Index) -> Index {
    Index(offset: lineOfField(from: lineEnd(from: index.offset)))
  }

  /// The field at that position.
  public subscript(position: Index) -> Field {
    precondition(position.offset < wire.count, "there is no field behind the last one")
    return wire.withUnsafeBufferPointer { bytes in
      let line = FieldLine(.init(rebasing: bytes[position.offset..<lineEnd(from: position.offset)]))
      guard let line else { preconditionFailure("an index of other fields") }
      return line.field
    }
  }

  /// The offset after the line that begins at `offset`.
  private func lineEnd(from offset: Int) -> Int {
    (wire[offset...].firstIndex(of: 0x0A) ?? wire.count - 1) + 1
  }

  /// The offset of the next line that is a field; the end where there is none.
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
