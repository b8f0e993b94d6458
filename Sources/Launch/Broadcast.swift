/// A value, and any number of sequences that yield its changes; part of its owner's state, under the owner's lock.
///
/// Readers are told outside that lock: resuming a task and cancelling it exclude each other, and what a reader's
/// cancellation calls may need the owner's lock. One thread at a time tells them, so that all see the same order.
struct Broadcast<Value: Sendable>: Sendable {
  typealias Reader = AsyncStream<Value>.Continuation

  private(set) var value: Value
  private var readers: [Int: Reader] = [:]
  private var last = 0
  private var isOver = false
  /// The values that were not told yet, each with those who read when it came.
  private var outbox: [(value: Value, readers: [Reader])] = []
  private var isTelling = false

  init(_ value: Value) { self.value = value }

  /// Gives the value to a new reader, who is told of every later one too. Nobody waits for it yet.
  /// - Returns: The reader's number; `nil` where the sequences have ended.
  private mutating func add(_ reader: Reader) -> Int? {
    reader.yield(value)
    guard !isOver else { return nil }
    last += 1
    readers[last] = reader
    return last
  }

  private mutating func remove(_ number: Int) { readers[number] = nil }

  /// Changes the value; the owner then lets the readers be told, outside its lock.
  mutating func send(_ value: Value) {
    self.value = value
    if !readers.isEmpty { outbox.append((value, Array(readers.values))) }
  }

  /// What is to be told next; `nil` at the end, and where another thread is telling.
  /// - Parameter isNext: Whether the caller has told what it was given before.
  mutating func next(after isNext: Bool) -> (value: Value, readers: [Reader])? {
    if isTelling, !isNext { return nil }
    isTelling = !outbox.isEmpty
    return isTelling ? outbox.removeFirst() : nil
  }

  /// A sequence for a new reader.
  /// - Parameter change: Changes the owner's broadcast under its lock.
  static func sequence(
    buffer: AsyncStream<Value>.Continuation.BufferingPolicy = .unbounded,
    _ change: @escaping @Sendable ((inout Self) -> Int?) -> Int?
  ) -> AsyncStream<Value> {
    AsyncStream(bufferingPolicy: buffer) { reader in
      guard let number = change({ $0.add(reader) }) else { return reader.finish() }
      reader.onTermination = { _ in
        _ = change {
          $0.remove(number)
          return nil
        }
      }
    }
  }

  /// Tells the readers what is new, one value after the other.
  /// - Parameter next: Calls ``next(after:)`` under the owner's lock.
  static func tellReaders(_ next: (_ isNext: Bool) -> (value: Value, readers: [Reader])?) {
    var wasTold = false
    while let (value, readers) = next(wasTold) {
      for reader in readers { reader.yield(value) }
      wasTold = true
    }
  }

  /// - Returns: The readers, whose sequences the caller ends outside the lock.
  mutating func finish() -> [Reader] {
    isOver = true
    defer { readers = [:] }
    return Array(readers.values)
  }
}
