/// A value, and any number of sequences that yield its changes; part of its owner's state, under the owner's lock.
struct Broadcast<Value: Sendable>: Sendable {
  private(set) var value: Value
  private var readers: [Int: AsyncStream<Value>.Continuation] = [:]
  private var last = 0
  private var isOver = false

  init(_ value: Value) { self.value = value }

  /// Sends the value to a new reader, who is told of every later one too.
  /// - Returns: The reader's number; `nil` where the sequences have ended.
  mutating func add(_ reader: AsyncStream<Value>.Continuation) -> Int? {
    reader.yield(value)
    guard !isOver else { return nil }
    last += 1
    readers[last] = reader
    return last
  }

  mutating func remove(_ number: Int) { readers[number] = nil }

  /// Changes the value. Readers are told at once, under the owner's lock, so that all see the same order.
  mutating func send(_ value: Value) {
    self.value = value
    for reader in readers.values { reader.yield(value) }
  }

  /// - Returns: The readers, whose sequences the caller ends outside the lock.
  mutating func finish() -> [AsyncStream<Value>.Continuation] {
    isOver = true
    defer { readers = [:] }
    return Array(readers.values)
  }
}
