import Synchronization

#if DEBUG
  import PlatformC
#endif

/// A value under a lock that is held briefly. No other lock of this module may be taken while it is held.
///
/// A debug build traps if a thread takes a second lock; a release build contains only the `Mutex`.
struct Guarded<Value: ~Copyable>: ~Copyable, Sendable {
  private let mutex: Mutex<Value>

  @inline(__always) init(_ value: consuming sending Value) { mutex = Mutex(value) }

  @inline(__always) borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    #if DEBUG
      HeldLock.take()
      defer { HeldLock.release() }
    #endif
    return try mutex.withLock(body)
  }
}

#if DEBUG
  /// Whether this thread holds a lock.
  private enum HeldLock {
    private static let key: pthread_key_t = {
      var key = pthread_key_t()
      pthread_key_create(&key, nil)
      return key
    }()

    static func take() {
      precondition(pthread_getspecific(key) == nil, "a lock is taken by a thread that holds another")
      pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    }

    static func release() { pthread_setspecific(key, nil) }
  }
#endif
