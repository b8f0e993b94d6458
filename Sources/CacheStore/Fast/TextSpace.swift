/// Where a prepared statement's texts stay until it is reset: SQLite would allocate and free a copy of each,
/// as it does where there is none of this or no room in it.
///
/// Freed by the connection, with the statement.
struct TextSpace {
  private static let capacity = 512
  /// How many bytes are taken, and after it the bytes.
  private let taken: UnsafeMutablePointer<Int>

  init() {
    taken = .allocate(capacity: 1 + Self.capacity / MemoryLayout<Int>.size)
    taken.initialize(to: 0)
  }

  func deallocate() { taken.deallocate() }

  /// Frees the room of the texts, once nothing is bound any more.
  func removeAll() { taken.pointee = 0 }

  /// A copy of the text; `nil` where there is no room for it.
  func copy(_ text: UnsafeBufferPointer<CChar>) -> UnsafePointer<CChar>? {
    guard let source = text.baseAddress, text.count <= Self.capacity - taken.pointee else { return nil }
    let place = UnsafeMutableRawPointer(taken + 1) + taken.pointee
    place.copyMemory(from: source, byteCount: text.count)
    taken.pointee += text.count
    return UnsafePointer(place.assumingMemoryBound(to: CChar.self))
  }
}
