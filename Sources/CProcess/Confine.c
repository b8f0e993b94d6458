#if defined(__linux__)

#define _GNU_SOURCE
#include "CProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Swift's runtime may have been told to print a backtrace, which shows memory, when a process crashes; it waits 30 s for
// a helper that cannot read this process.
static void end_crashes_at_once(void) {
  static const int crashes[] = {SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
  for (size_t index = 0; index < sizeof crashes / sizeof crashes[0]; index++) {
    struct sigaction present;
    if (sigaction(crashes[index], NULL, &present) != 0 || present.sa_handler == SIG_IGN) continue;
    present.sa_handler = SIG_DFL;
    present.sa_flags = 0;
    (void)sigaction(crashes[index], &present, NULL);
  }
}

void cprocess_keep_memory_private(void) {
  struct rlimit none;
  if (getrlimit(RLIMIT_CORE, &none) == 0 && none.rlim_cur != 0) {
    none.rlim_cur = 0;
    (void)setrlimit(RLIMIT_CORE, &none);
  }
  (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  end_crashes_at_once();
}

// Landlock's structures from linux/landlock.h, repeated here because the installed header may be older than the kernel.
struct ruleset {
  uint64_t handled;
};
struct path_rule {
  uint64_t allowed;
  int32_t folder;
} __attribute__((packed));

enum { create_ruleset = 444, add_rule = 445, restrict_self = 446, ask_version = 1, path_beneath = 1 };

// Access bits of linux/landlock.h. Execution is not restricted: a started program inherits the other restrictions.
static const uint64_t write_file = 1 << 1, read_file = 1 << 2, read_folder = 1 << 3, remove_and_make = 0x1FF << 4,
                      refer = 1 << 13, truncate_file = 1 << 14;

static uint64_t handled;

// Whether a filter of system calls kills who makes Landlock's. A child tries: with no signal at its end, so that it can be
// waited for whatever becomes of SIGCHLD here, and without a core file.
static bool filter_kills(void) {
  if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 2 /* SECCOMP_MODE_FILTER */) return false;
  long child = syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
  if (child == 0) {
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)syscall(create_ruleset, NULL, 0, ask_version);
    (void)syscall(add_rule, -1, path_beneath, NULL, 0);
    (void)syscall(restrict_self, -1, 0);
    _exit(0);
  }
  int status = 0;
  while (child > 0 && waitpid((pid_t)child, &status, __WALL) < 0 && errno == EINTR) {}
  return child > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

int cprocess_confinement_begin(void) {
  if (filter_kills()) return -2;
  long version = syscall(create_ruleset, NULL, 0, ask_version);
  if (version < 1) return -1;
  handled = write_file | read_file | read_folder | remove_and_make;
  if (version >= 2) handled |= refer;
  if (version >= 3) handled |= truncate_file;
  struct ruleset rules = {.handled = handled};
  return (int)syscall(create_ruleset, &rules, sizeof rules, 0);
}

bool cprocess_confinement_allow(int rules, const char *path, bool writes) {
  int place = open(path, O_PATH | O_CLOEXEC);
  if (place < 0) return false;
  struct path_rule rule = {.allowed = writes ? handled : read_file | read_folder, .folder = place};
  long result = syscall(add_rule, rules, path_beneath, &rule, 0);
  if (result != 0 && errno == EINVAL) {
    // The kernel refuses folder rights on a regular file with EINVAL.
    rule.allowed &= write_file | read_file | truncate_file;
    result = syscall(add_rule, rules, path_beneath, &rule, 0);
  }
  close(place);
  return result == 0;
}

bool cprocess_confinement_enforce(int rules) {
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(restrict_self, rules, 0) == 0;
}

#endif
