internal import PlatformC

extension UnsafeBufferPointer<UInt8> {
  /// The offset of the first such byte, found several bytes at a time.
  func offset(of byte: UInt8) -> Int? {
    guard let start = baseAddress, let found = memchr(start, Int32(byte), count) else { return nil }
    return UnsafeRawPointer(start).distance(to: found)
  }

  /// The plain form of ``offset(of:)``.
  func plainOffset(of byte: UInt8) -> Int? { firstIndex(of: byte) }
}

extension UnsafeRawBufferPointer {
  /// Whether both have the same bytes, compared several at a time.
  func isSame(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    guard let start = baseAddress, let otherStart = other.baseAddress else { return true }
    return memcmp(start, otherStart, count) == 0
  }

  /// The plain form of ``isSame(as:)``.
  func isPlainlySame(as other: UnsafeRawBufferPointer) -> Bool { elementsEqual(other) }
}
