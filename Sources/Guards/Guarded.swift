public import Synchronization

#if DEBUG
  internal import PlatformC
#endif

/// A value under a lock that is held briefly. No other lock is taken while it is held.
///
/// A debug build traps where a thread breaks that; a release build contains only the `Mutex`.
public struct Guarded<Value: ~Copyable>: ~Copyable, Sendable {
  @usableFromInline let mutex: Mutex<Value>

  /// Makes one.
  @inlinable @inline(__always) public init(_ value: consuming sending Value) { mutex = Mutex(value) }

  /// Runs `body` with the value, waiting for the lock if need be.
  @inlinable @inline(__always) public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    #if DEBUG
      HeldLocks.take(.inner)
      defer { HeldLocks.release(.inner) }
    #endif
    return try mutex.withLock(body)
  }

  /// Runs `body` unless the lock is held.
  @inlinable @inline(__always)
  public borrowing func withLockIfAvailable<
    Result: ~Copyable, Failure: Error
  >(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result? {
    try mutex.withLockIfAvailable { value throws(Failure) in
      #if DEBUG
        HeldLocks.take(.inner)
        defer { HeldLocks.release(.inner) }
      #endif
      return try body(&value)
    }
  }
}

/// A value under a lock that is held for a whole piece of work, in which ``Guarded`` values may be used. A thread takes
/// it only while it holds no other lock.
///
/// With the two forms no circle of locks can arise. A debug build traps where a thread breaks the rule.
public struct GuardedWork<Value: ~Copyable>: ~Copyable, Sendable {
  @usableFromInline let mutex: Mutex<Value>

  /// Makes one.
  @inlinable @inline(__always) public init(_ value: consuming sending Value) { mutex = Mutex(value) }

  /// Runs `body` with the value, waiting for the lock if need be.
  @inlinable @inline(__always) public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    #if DEBUG
      HeldLocks.take(.outer)
      defer { HeldLocks.release(.outer) }
    #endif
    return try mutex.withLock(body)
  }

  /// Runs `body` unless the lock is held, by this thread or another.
  @inlinable @inline(__always)
  public borrowing func withLockIfAvailable<
    Result: ~Copyable, Failure: Error
  >(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result? {
    try mutex.withLockIfAvailable { value throws(Failure) in
      #if DEBUG
        HeldLocks.take(.outer)
        defer { HeldLocks.release(.outer) }
      #endif
      return try body(&value)
    }
  }
}

#if DEBUG
  /// Which locks this thread holds.
  @usableFromInline enum HeldLocks: UInt {
    case inner = 1
    case outer = 2

    private static let key: pthread_key_t = {
      var key = pthread_key_t()
      pthread_key_create(&key, nil)
      return key
    }()

    private static var held: UInt {
      get { UInt(bitPattern: pthread_getspecific(key)) }
      set { pthread_setspecific(key, UnsafeRawPointer(bitPattern: newValue)) }
    }

    /// Only an inner lock may be taken, and only inside no other or an outer one.
    @usableFromInline static func take(_ lock: HeldLocks) {
      precondition(
        held == 0 || held == Self.outer.rawValue && lock == .inner,
        "a lock is taken by a thread that holds another")
      held |= lock.rawValue
    }

    @usableFromInline static func release(_ lock: HeldLocks) { held &= ~lock.rawValue }
  }
#endif
