internal import PlatformC

extension UnsafeBufferPointer<UInt8> {
  /// The offset of the first such byte, found several bytes at a time.
  func offset(of byte: UInt8) -> Int? {
    guard let start = baseAddress, let found = memchr(start, Int32(byte), count) else { return nil }
    return UnsafeRawPointer(start).distance(to: found)
  }
}

extension UnsafeRawBufferPointer {
  /// Whether both have the same bytes, compared several at a time.
  func isSame(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    guard let start = baseAddress, let otherStart = other.baseAddress else { return true }
    return memcmp(start, otherStart, count) == 0
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Whether both are equal, ignoring the case of ASCII letters.
  func equalsIgnoringCase(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
    guard count == other.count else { return false }
    for index in indices where self[index] != other[index] {
      guard self[index].asciiLowercased == other[index].asciiLowercased else { return false }
    }
    return true
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
}

extension UInt8 {
  /// The byte in lower case where it is an ASCII capital.
  @inlinable package var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}
