#if DEBUG
  internal import PlatformC

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
