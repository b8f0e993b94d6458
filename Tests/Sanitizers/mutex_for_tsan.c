// Tells ThreadSanitizer about contended locking of Swift's Mutex on Linux.
//
// The Mutex locks and unlocks through an atomic that the sanitizer sees, unless another thread holds it: then the kernel
// changes the lock word (FUTEX_LOCK_PI) in a library that is not instrumented, and the sanitizer reports a race between
// two critical sections of one lock. Preloaded into the test process by scripts/check, the three functions below add the
// missing edge and go on to the real ones. They hide no race: a lock is an acquire and an unlock is a release.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define SELF __attribute__((swift_context)) void *self

extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

typedef __attribute__((swiftcall)) void lock_slow_function(uint32_t thread, SELF);
typedef __attribute__((swiftcall)) void unlock_slow_function(SELF);
typedef __attribute__((swiftcall)) bool try_lock_slow_function(SELF);

__attribute__((swiftcall, visibility("default"))) void lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
__attribute__((swiftcall, visibility("default"))) void unlock_slow(SELF) __asm__(UNLOCK_SLOW);
__attribute__((swiftcall, visibility("default"))) bool try_lock_slow(SELF) __asm__(TRY_LOCK_SLOW);

__attribute__((swiftcall)) void lock_slow(uint32_t thread, SELF) {
  ((lock_slow_function *)dlsym(RTLD_NEXT, LOCK_SLOW))(thread, self);
  if (__tsan_acquire) __tsan_acquire(self);
}

__attribute__((swiftcall)) void unlock_slow(SELF) {
  if (__tsan_release) __tsan_release(self);
  ((unlock_slow_function *)dlsym(RTLD_NEXT, UNLOCK_SLOW))(self);
}

__attribute__((swiftcall)) bool try_lock_slow(SELF) {
  bool isLocked = ((try_lock_slow_function *)dlsym(RTLD_NEXT, TRY_LOCK_SLOW))(self);
  if (isLocked && __tsan_acquire) __tsan_acquire(self);
  return isLocked;
}
