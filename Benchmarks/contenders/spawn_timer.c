// Measures programs from the outside, in alternation: time to the first byte on standard output, time to the end,
// processor time and peak memory.
//
// usage: spawn_timer ROUNDS < LIST > RESULTS
// LIST: one contender a line, fields separated by tabs: name, program, arguments... `{round}` in an argument is replaced by
// the number of the round, from 0.
// RESULTS: name, first_ns, end_ns, bytes, cpu_us, peak_kib, status, separated by tabs, one line a run; at the end of the
// line the XXH3 of all that was written, so that a large body can be compared without being kept.
// A program that writes nothing has the time of its end as its first byte. The end is that of the last process that a
// program has left behind, and their processor time counts as its own. Each round runs every contender once, the
// order turned by one each time, so that none is always behind the same neighbour.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include "../../Sources/CXXHash/Vendored/xxhash-0.8.1/xxhash.h"

enum { most_contenders = 64, most_arguments = 256 };
static char *argv_of[most_contenders][most_arguments];
static char *name_of[most_contenders];
extern char **environ;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static char *with_round(char *argument, int round) {
  char *mark = strstr(argument, "{round}"), *text = NULL;
  if (!mark) return argument;
  if (asprintf(&text, "%.*s%d%s", (int)(mark - argument), argument, round, mark + strlen("{round}")) < 0) exit(1);
  return text;
}

static long cpu_us(const struct rusage *usage) {
  return usage->ru_utime.tv_sec * 1000000 + usage->ru_utime.tv_usec + usage->ru_stime.tv_sec * 1000000 +
         usage->ru_stime.tv_usec;
}

static void run(int which, int round) {
  static char buffer[1 << 20];
  char *arguments[most_arguments] = {NULL};
  for (int i = 0; argv_of[which][i]; i++) arguments[i] = with_round(argv_of[which][i], round);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) { perror("pipe"); exit(1); }
  fcntl(ends[0], F_SETPIPE_SZ, 1 << 20);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid;
  uint64_t start = now_ns();
  int code = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);
  if (code != 0) { fprintf(stderr, "%s: %s\n", arguments[0], strerror(code)); exit(1); }
  close(ends[1]);
  uint64_t first = 0, bytes = 0;
  static XXH3_state_t hash;
  XXH3_64bits_reset(&hash);
  for (;;) {
    ssize_t count = read(ends[0], buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    if (first == 0) first = now_ns();
    bytes += (uint64_t)count;
    XXH3_64bits_update(&hash, buffer, (size_t)count);
  }
  int status = 0;
  struct rusage usage;
  while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {}
  long cpu = cpu_us(&usage);
  struct rusage left_behind;
  for (;;) {
    if (wait4(-1, NULL, 0, &left_behind) > 0) cpu += cpu_us(&left_behind);
    else if (errno != EINTR) break;
  }
  uint64_t end = now_ns();
  close(ends[0]);
  posix_spawn_file_actions_destroy(&actions);
  printf("%s\t%lu\t%lu\t%lu\t%ld\t%ld\t%d\t%lu\n", name_of[which], (first ? first : end) - start, end - start, bytes, cpu,
         usage.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), (unsigned long)XXH3_64bits_digest(&hash));
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 1, count = 0;
  char *line = NULL;
  size_t size = 0;
  // What a program leaves behind becomes a child of this process, which can wait for it.
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) { perror("prctl"); return 1; }
  while (count < most_contenders && getline(&line, &size, stdin) > 0) {
    char *copy = strdup(line), *rest = copy, *word;
    copy[strcspn(copy, "\n")] = 0;
    int words = 0;
    name_of[count] = strsep(&rest, "\t");
    while (words < most_arguments - 1 && (word = strsep(&rest, "\t"))) argv_of[count][words++] = word;
    if (words > 0) count++;
  }
  for (int round = 0; round < rounds; round++)
    for (int i = 0; i < count; i++) run((i + round) % count, round);
  return 0;
}
