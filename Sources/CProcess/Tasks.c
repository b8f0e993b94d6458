#if defined(__linux__)

#define _GNU_SOURCE
#include "CProcess.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

// The Swift runtime's hooks for its global executor (ConcurrencyHooks in the runtime's sources; stable since 5.5).
#define SWIFT_CC __attribute__((swiftcall))
typedef struct job job;
typedef SWIFT_CC void enqueue_original(job *);
typedef SWIFT_CC void delay_original(unsigned long long, job *);
typedef SWIFT_CC void deadline_original(long long, long long, long long, long long, int, job *);
extern SWIFT_CC void (*swift_task_enqueueGlobal_hook)(job *, enqueue_original *);
extern SWIFT_CC void (*swift_task_enqueueGlobalWithDelay_hook)(unsigned long long, job *, delay_original *);
extern SWIFT_CC void (*swift_task_enqueueGlobalWithDeadline_hook)(long long, long long, long long, long long, int, job *,
                                                                  deadline_original *);
// An executor is two words; two zeros are the global one.
extern SWIFT_CC void swift_job_run(job *, void *, void *);

struct entry {
  job *job;
  // On CLOCK_MONOTONIC, in nanoseconds; 0 is at once.
  int64_t due;
};

enum { most_threads = 8 };

// Few jobs wait at a time, so that searching a list is as fast as a heap.
static struct {
  pthread_mutex_t lock;
  pthread_cond_t more;
  struct entry *entries;
  size_t count, room;
  int threads, idle, limit;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static int64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void prepare(void) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&pool.more, &attributes);
  pthread_condattr_destroy(&attributes);
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  pool.limit = processors < 2 ? 2 : processors > most_threads ? most_threads : (int)processors;
}

// Removes the oldest due job; called with the lock held. `next` becomes the time to look again, INT64_MAX for never.
static job *take(int64_t *next) {
  *next = INT64_MAX;
  int64_t time = 0;
  for (size_t i = 0; i < pool.count; i++) {
    int64_t due = pool.entries[i].due;
    if (due && !time) time = now(CLOCK_MONOTONIC);
    if (due > time) {
      if (due < *next) *next = due;
      continue;
    }
    job *found = pool.entries[i].job;
    for (size_t j = i + 1; j < pool.count; j++) pool.entries[j - 1] = pool.entries[j];
    pool.count--;
    return found;
  }
  return NULL;
}

static void *work(void *unused) {
  (void)unused;
  pthread_setname_np(pthread_self(), "cachefetch-task");
  pthread_mutex_lock(&pool.lock);
  for (;;) {
    int64_t next;
    job *found = take(&next);
    if (found) {
      pthread_mutex_unlock(&pool.lock);
      swift_job_run(found, NULL, NULL);
      pthread_mutex_lock(&pool.lock);
      continue;
    }
    pool.idle++;
    if (next == INT64_MAX) {
      pthread_cond_wait(&pool.more, &pool.lock);
    } else {
      struct timespec until = {.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000};
      pthread_cond_timedwait(&pool.more, &pool.lock, &until);
    }
    pool.idle--;
  }
  return NULL;
}

// Adds a thread; called with the lock held. The thread blocks all signals, which the main thread handles.
static void add_thread(void) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, work, NULL) == 0) pool.threads++;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// Returns `false` if there is no memory or no thread for it.
static bool add(job *job, int64_t due) {
  pthread_once(&once, prepare);
  pthread_mutex_lock(&pool.lock);
  if ((size_t)pool.idle <= pool.count && pool.threads < pool.limit) add_thread();
  bool added = pool.threads > 0;
  if (added && pool.count == pool.room) {
    size_t room = pool.room ? pool.room * 2 : 64;
    struct entry *larger = realloc(pool.entries, room * sizeof *larger);
    added = larger != NULL;
    if (larger) {
      pool.entries = larger;
      pool.room = room;
    }
  }
  if (added) {
    pool.entries[pool.count++] = (struct entry){.job = job, .due = due};
    pthread_cond_signal(&pool.more);
  }
  pthread_mutex_unlock(&pool.lock);
  return added;
}

static SWIFT_CC void enqueue(job *job, enqueue_original *original) {
  if (!add(job, 0)) original(job);
}

static int64_t after(int64_t nanoseconds) {
  int64_t due;
  if (nanoseconds < 0) nanoseconds = 0;
  return __builtin_add_overflow(now(CLOCK_MONOTONIC), nanoseconds, &due) ? INT64_MAX - 1 : due;
}

static SWIFT_CC void enqueue_delayed(unsigned long long nanoseconds, job *job, delay_original *original) {
  int64_t delay = nanoseconds > INT64_MAX ? INT64_MAX : (int64_t)nanoseconds;
  if (!add(job, after(delay))) original(nanoseconds, job);
}

// A deadline on one of the runtime's clocks: 1 counts through sleep, 2 does not.
static SWIFT_CC void enqueue_until(long long seconds, long long nanoseconds, long long tolerance_seconds,
                                   long long tolerance_nanoseconds, int clock, job *job,
                                   deadline_original *original) {
  int64_t due, left;
  if (__builtin_mul_overflow(seconds, 1000000000LL, &due) || __builtin_add_overflow(due, nanoseconds, &due)) {
    due = seconds < 0 ? 0 : INT64_MAX - 1;
  }
  left = due - now(clock == 1 ? CLOCK_BOOTTIME : CLOCK_MONOTONIC);
  if (!add(job, after(left))) original(seconds, nanoseconds, tolerance_seconds, tolerance_nanoseconds, clock, job);
}

void cprocess_take_over_tasks(void) {
  swift_task_enqueueGlobal_hook = enqueue;
  swift_task_enqueueGlobalWithDelay_hook = enqueue_delayed;
  swift_task_enqueueGlobalWithDeadline_hook = enqueue_until;
}

#endif
