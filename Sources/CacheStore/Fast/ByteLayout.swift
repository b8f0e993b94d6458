/// Bytes laid out one after another, in memory that is used again.
///
/// Raw memory, not an array as in ``PlainByteLayout``: at each value an array asks whether it is nobody else's and has room.
struct ByteLayout: ~Copyable {
  private var start: UnsafeMutableRawPointer
  private var capacity: Int
  private var count = 0

  init(capacity: Int = 1_024) {
    self.capacity = capacity
    start = .allocate(byteCount: capacity, alignment: 8)
  }

  deinit { start.deallocate() }

  /// What has been laid out.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

  mutating func removeAll() { count = 0 }

  mutating func add(_ value: Int64) {
    reserve(8)
    (start + count).storeBytes(of: value.littleEndian, as: Int64.self)
    count += 8
  }

  /// Adds the bytes, and before them how many they are.
  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    add(Int64(bytes.count))
    guard let source = bytes.baseAddress else { return }
    reserve(bytes.count)
    (start + count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
  }

  /// Adds the text's bytes, and before them how many they are.
  mutating func add(_ text: String) {
    var text = text
    text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
  }

  private mutating func reserve(_ more: Int) {
    guard count + more > capacity else { return }
    capacity = max(2 * capacity, count + more)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
    larger.copyMemory(from: start, byteCount: count)
    start.deallocate()
    start = larger
  }
}

/// The plain form of ``ByteLayout``.
struct PlainByteLayout {
  /// What has been laid out.
  private(set) var bytes: [UInt8] = []

  mutating func removeAll() { bytes = [] }

  mutating func add(_ value: Int64) { withUnsafeBytes(of: value.littleEndian) { bytes += $0 } }

  /// Adds the bytes, and before them how many they are.
  mutating func add(_ more: UnsafeRawBufferPointer) {
    add(Int64(more.count))
    bytes += more
  }

  /// Adds the text's bytes, and before them how many they are.
  mutating func add(_ text: String) {
    add(Int64(text.utf8.count))
    bytes += text.utf8
  }
}
