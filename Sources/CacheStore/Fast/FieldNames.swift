/// A case-insensitive set of field names, searched without allocating a string.
package struct FieldNames: Sendable, ExpressibleByArrayLiteral {
  /// The lower-case names concatenated, by their length.
  private var byLength: [[UInt8]] = []

  /// The set of these names, whatever their case.
  package init(_ names: some Sequence<String>) {
    for name in names {
      let bytes = name.utf8.map(\.asciiLowercased)
      while byLength.count <= bytes.count { byLength.append([]) }
      byLength[bytes.count] += bytes
    }
  }

  package init(arrayLiteral names: String...) { self.init(names) }

  /// Whether the name is one of them.
  package func contains(_ name: String) -> Bool {
    var name = name
    return name.withUTF8 { contains($0) }
  }

  func contains(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    let length = name.count
    guard length > 0, length < byLength.count, !byLength[length].isEmpty else { return false }
    return byLength[length].withUnsafeBufferPointer { names in
      stride(from: 0, to: names.count, by: length).contains { start in
        names[start] == name[0].asciiLowercased
          && name.equalsIgnoringCase(.init(rebasing: names[start..<start + length]))
      }
    }
  }
}
