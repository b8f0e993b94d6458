/// The memory of a prepared statement's bound texts until it is reset. Without it, or where it is full, SQLite
/// allocates and frees a copy of each text.
///
/// The connection frees it with the statement.
struct TextSpace {
  private static let capacity = 512
  /// The number of bytes used, followed by the bytes.
  private let taken: UnsafeMutablePointer<Int>

  init() {
    taken = .allocate(capacity: 1 + Self.capacity / MemoryLayout<Int>.size)
    taken.initialize(to: 0)
  }

  func deallocate() { taken.deallocate() }

  /// Discards the texts, once no parameter is bound to them.
  func removeAll() { taken.pointee = 0 }

  /// A copy of the text; `nil` where the memory is full.
  func copy(_ text: UnsafeBufferPointer<CChar>) -> UnsafePointer<CChar>? {
    guard let source = text.baseAddress, text.count <= Self.capacity - taken.pointee else { return nil }
    let place = UnsafeMutableRawPointer(taken + 1) + taken.pointee
    place.copyMemory(from: source, byteCount: text.count)
    taken.pointee += text.count
    return UnsafePointer(place.assumingMemoryBound(to: CChar.self))
  }
}
