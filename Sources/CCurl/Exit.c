#if defined(__linux__)

#include "CCurl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

// A program may return from `main` while an exchange is under way. Then libcrypto's exit handler frees its state. A
// thread still inside libcrypto, loading it or making a TLS connection, crashes before the program's buffered output
// is written.

static atomic_int busy;
static atomic_bool exiting;
static _Thread_local bool counts;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void stand_still(void) {
  atomic_store(&exiting, true);
  // If such a thread calls exit, it must not wait for itself.
  if (counts) ccurl_thread_rest();
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  pthread_mutex_lock(&guard);
  while (atomic_load(&busy) > 0 && pthread_cond_timedwait(&changed, &guard, &until) == 0) {
  }
  pthread_mutex_unlock(&guard);
}

// Exit handlers run in the reverse order of their registration. This one has to precede libcrypto's, so it is registered
// before the library is loaded, for an exit meanwhile, and once more when the library has registered its own. With the
// first alone, 9 of 20 programs that ended while they made 32 TLS connections crashed.
void ccurl_stand_still_at_exit(void) { atexit(stand_still); }

void ccurl_thread_rest(void) {
  counts = false;
  if (atomic_fetch_sub(&busy, 1) > 1 || !atomic_load(&exiting)) return;
  pthread_mutex_lock(&guard);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&guard);
}

void ccurl_thread_check(void) {
  if (!atomic_load(&exiting)) return;
  ccurl_thread_rest();
  for (;;) pause();
}

void ccurl_thread_resume(void) {
  pthread_once(&once, ccurl_stand_still_at_exit);
  counts = true;
  atomic_fetch_add(&busy, 1);
  ccurl_thread_check();
}

#endif
