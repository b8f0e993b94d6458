// Preloaded into what a document's block starts: every clock is ahead by what stands in the file $DOCUMENT_CLOCK names
// (nanoseconds, a signed 64-bit number), and who waits in poll notices when it moves. So an hour passes when the check
// says so, and nothing sleeps.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead;
static const int64_t second = 1000000000;

__attribute__((constructor)) static void open_clock(void) {
  const char *path = getenv("DOCUMENT_CLOCK");
  int descriptor = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (descriptor < 0) return;
  void *page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, descriptor, 0);
  if (page != MAP_FAILED) ahead = page;
  close(descriptor);
}

static int64_t now(clockid_t clock) {
  struct timespec time;
  syscall(SYS_clock_gettime, clock, &time);
  return time.tv_sec * second + time.tv_nsec + (ahead ? *ahead : 0);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (clock < 0 || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)
    return (int)syscall(SYS_clock_gettime, clock, time);
  int64_t instant = now(clock);
  *time = (struct timespec){.tv_sec = instant / second, .tv_nsec = instant % second};
  return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  (void)zone;
  int64_t instant = now(CLOCK_REALTIME);
  *time = (struct timeval){.tv_sec = instant / second, .tv_usec = instant % second / 1000};
  return 0;
}

time_t time(time_t *result) {
  time_t seconds = now(CLOCK_REALTIME) / second;
  if (result) *result = seconds;
  return seconds;
}

int poll(struct pollfd *descriptors, nfds_t count, int milliseconds) {
  int64_t end = milliseconds < 0 ? INT64_MAX : now(CLOCK_MONOTONIC) + milliseconds * (second / 1000);
  for (;;) {
    int64_t left = end == INT64_MAX ? end : end - now(CLOCK_MONOTONIC);
    if (left < 0) left = 0;
    int64_t turn = left < second / 200 ? left : second / 200;
    struct timespec limit = {.tv_sec = 0, .tv_nsec = turn};
    long ready = syscall(SYS_ppoll, descriptors, count, milliseconds < 0 && !ahead ? NULL : &limit, NULL, 0);
    if (ready != 0 || turn == left) return (int)ready;
  }
}
