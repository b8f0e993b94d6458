#define _GNU_SOURCE
#include "CTestSupport.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

void testsupport_close_from(void *actions, int first) {
#ifdef __linux__
  posix_spawn_file_actions_addclosefrom_np(actions, first);
#else
  (void)actions;
  (void)first;  // POSIX_SPAWN_CLOEXEC_DEFAULT does it
#endif
}

void testsupport_fill(unsigned char *bytes, long count, unsigned long long seed) {
  for (long place = 0; place < count; place++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    bytes[place] = (unsigned char)(seed >> 33);
  }
}

void testsupport_change_directory(void *actions, const char *path) {
  posix_spawn_file_actions_addchdir_np(actions, path);
}

int testsupport_collect(int pid, long *peak_kib) {
  struct rusage usage = {0};
  int status = 0;
  while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {}
#ifdef __APPLE__
  *peak_kib = usage.ru_maxrss / 1024;
#else
  *peak_kib = usage.ru_maxrss;
#endif
  return status;
}

int testsupport_landlock_version(void) {
#ifdef __linux__
  return (int)syscall(444 /* landlock_create_ruleset */, NULL, 0, 1);
#else
  return 0;
#endif
}

int testsupport_file_with_room(long bytes) {
#ifdef __linux__
  int file = memfd_create("room", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file >= 0 && (ftruncate(file, bytes) != 0 || fcntl(file, F_ADD_SEALS, F_SEAL_GROW) != 0)) {
    close(file);
    return -1;
  }
  return file;
#else
  (void)bytes;
  return -1;
#endif
}

int testsupport_has_avx2(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") ? 1 : 0;
#else
  return 0;
#endif
}

int testsupport_contains(const unsigned char *bytes, long count, const unsigned char *wanted, long wanted_count) {
  return memmem(bytes, (size_t)count, wanted, (size_t)wanted_count) != NULL;
}
