#if defined(__linux__)

#define _GNU_SOURCE
#include "CProcess.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

static int argument_count;
static char **arguments;

// If a standard stream is closed, the next file opened gets its number, and output meant for the stream goes into that
// file. The replacements are opened in the opposite mode, so that using the stream is an error, as the caller wanted;
// only standard error silently discards messages.
static void fill_standard_streams(void) {
  static const int modes[] = {O_WRONLY, O_RDONLY, O_RDWR};
  for (int stream = 0; stream <= 2; stream++) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // Without /dev: a descriptor opened with O_PATH can be neither read nor written.
    if (open("/dev/null", modes[stream]) < 0) (void)open("/", O_PATH);
  }
}

static void begin(int count, char **words, char **environment) {
  (void)environment;
  argument_count = count;
  arguments = words;
  fill_standard_streams();
}

// glibc calls these functions with the arguments of `main`, before the program opens any file. The attribute
// `constructor` refuses functions with parameters.
__attribute__((section(".init_array"), used)) static void (*entry)(int, char **, char **) = begin;

int cprocess_argument_count(void) { return arguments ? argument_count : 0; }

char *const *cprocess_arguments(void) { return arguments; }

// In place of the runtime's function of this name, so that the object that has it is not linked: before `main` that reads
// all of /proc/self/maps to find the arguments on the stack. Weak, so that the runtime's is used if its object is linked
// for something else.
__attribute__((weak)) char **_swift_stdlib_getUnsafeArgvArgc(int *count) {
  static char *none[] = {NULL};
  *count = arguments ? argument_count : 0;
  return arguments ? arguments : none;
}

void cprocess_raise_descriptor_limit(void) {
  // More than any command line needs. A higher limit only makes code that scans the descriptor table slower.
  const rlim_t enough = 65536;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max || limit.rlim_cur >= enough) return;
  limit.rlim_cur = limit.rlim_max < enough ? limit.rlim_max : enough;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

// scripts/lib/link-shipped links a strong definition in place of this one.
__attribute__((weak)) const char cprocess_linked[] = "";

const char *cprocess_linked_libraries(void) { return cprocess_linked; }

#endif
