#if defined(__linux__)

#define _GNU_SOURCE
#include "CProcess.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

static int argument_count;
static char **arguments;

// Whatever opens a file first would get the number of a standard stream that is closed, and what is meant for the
// stream would go into it. The stand-ins open the other way round, so that using one is an error, as the caller wanted;
// but messages may go nowhere.
static void fill_standard_streams(void) {
  static const int modes[] = {O_WRONLY, O_RDONLY, O_RDWR};
  for (int stream = 0; stream <= 2; stream++) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // Opened with O_PATH, a descriptor can be neither read nor written; where there is no /dev, that has to do.
    if (open("/dev/null", modes[stream]) < 0) (void)open("/", O_PATH);
  }
}

static void begin(int count, char **words, char **environment) {
  (void)environment;
  argument_count = count;
  arguments = words;
  fill_standard_streams();
}

// glibc gives such functions what it gives `main`, and calls them before anything of the program has opened a file. The
// attribute `constructor` refuses functions with parameters.
__attribute__((section(".init_array"), used)) static void (*entry)(int, char **, char **) = begin;

int cprocess_argument_count(void) { return arguments ? argument_count : 0; }

char *const *cprocess_arguments(void) { return arguments; }

void cprocess_raise_descriptor_limit(void) {
  // More than any command line asks for; what lies above would only make others search longer tables.
  const rlim_t enough = 65536;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max || limit.rlim_cur >= enough) return;
  limit.rlim_cur = limit.rlim_max < enough ? limit.rlim_max : enough;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

// scripts/link-shipped links another in its place.
__attribute__((weak)) const char cprocess_linked[] = "";

const char *cprocess_linked_libraries(void) { return cprocess_linked; }

#endif
