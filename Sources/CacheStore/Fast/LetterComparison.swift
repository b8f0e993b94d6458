extension UnsafeBufferPointer<UInt8> {
  /// Whether both are equal, ignoring the case of ASCII letters.
  func equalsIgnoringCase(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
    guard count == other.count else { return false }
    for index in indices where self[index] != other[index] {
      guard self[index].asciiLowercased == other[index].asciiLowercased else { return false }
    }
    return true
  }

  /// The plain form of ``equalsIgnoringCase(_:)``: converts both to lower case first.
  func equalsInLowerCase(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
    map(\.asciiLowercased) == other.map(\.asciiLowercased)
  }

  /// Whether the buffer contains these letters, at least one and given in lower case, in any case.
  func containsIgnoringCase(_ letters: StaticString) -> Bool {
    let wanted = UnsafeBufferPointer(start: letters.utf8Start, count: letters.utf8CodeUnitCount)
    guard count >= wanted.count else { return false }
    return (0...count - wanted.count).contains { start in
      self[start].asciiLowercased == wanted[0]
        && Self(rebasing: self[start..<start + wanted.count]).equalsIgnoringCase(wanted)
    }
  }

  /// The plain form of ``containsIgnoringCase(_:)``.
  func containsInLowerCase(_ letters: StaticString) -> Bool {
    let wanted = letters.withUTF8Buffer { Array($0) }
    let bytes = map(\.asciiLowercased)
    return bytes.indices.contains { bytes[$0...].starts(with: wanted) }
  }
}

extension UInt8 {
  /// The byte in lower case where it is an ASCII capital.
  @inlinable package var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}
