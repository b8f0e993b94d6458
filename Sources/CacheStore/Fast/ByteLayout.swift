/// Appends values to one contiguous buffer, which is reused.
///
/// Raw memory, not an array: for each value an array checks that its storage is unique and has capacity.
struct ByteLayout: ~Copyable {
  private var start: UnsafeMutableRawPointer
  private var capacity: Int
  private var count = 0

  init(capacity: Int = 1_024) {
    self.capacity = capacity
    start = .allocate(byteCount: capacity, alignment: 8)
  }

  deinit { start.deallocate() }

  /// The bytes so far.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

  mutating func removeAll() { count = 0 }

  mutating func add(_ value: Int64) {
    reserve(8)
    (start + count).storeBytes(of: value.littleEndian, as: Int64.self)
    count += 8
  }

  /// Adds the number of bytes, then the bytes.
  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    add(Int64(bytes.count))
    guard let source = bytes.baseAddress else { return }
    reserve(bytes.count)
    (start + count).copyMemory(from: source, byteCount: bytes.count)
    count += bytes.count
  }

  /// Adds the number of the text's UTF-8 bytes, then the bytes.
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
