// Makes chosen system calls on a store's files fail or wait, in a program that is not built for it: preloaded by the
// dynamic loader. Compiled by the tests that use it.
//
//   FAULT_CALLS   which, by comma: open stat lock sync read write rename unlink
//   FAULT_PATH    part of the path, or of the path a descriptor was opened by, of the files that are meant
//   FAULT_NTH     from which call on, counted from 1
//   FAULT_LASTING with it all that follow too
//   FAULT_ERROR   the error number
//   FAULT_GATE    in its place: a pipe whose opening for reading is waited for, which is when somebody opens it to
//                 write; that can be done without waiting only once a call is held up there
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static atomic_long count;
static atomic_char known[4096];

static int is_meant(const char *path) {
  const char *part = getenv("FAULT_PATH");
  return part && path && strstr(path, part) != NULL;
}

static int is_chosen(const char *kind) {
  const char *kinds = getenv("FAULT_CALLS");
  const char *found = kinds ? strstr(kinds, kind) : NULL;
  return found != NULL;
}

// 0 to go on; -1 with errno set where the call fails.
static int fault(const char *kind) {
  if (!is_chosen(kind)) return 0;
  const char *nth = getenv("FAULT_NTH");
  long number = atomic_fetch_add(&count, 1) + 1, first = nth ? atol(nth) : 1;
  if (number < first || (number > first && !getenv("FAULT_LASTING"))) return 0;
  const char *gate = getenv("FAULT_GATE");
  if (gate) {
    int (*real_open)(const char *, int, ...) = REAL(open);
    int pipe;
    do pipe = real_open(gate, O_RDONLY | O_CLOEXEC);
    while (pipe < 0 && errno == EINTR);
    if (pipe >= 0) close(pipe);
    return 0;
  }
  const char *error = getenv("FAULT_ERROR");
  errno = error ? atoi(error) : EIO;
  return -1;
}

static int fault_at(const char *kind, const char *path) { return is_meant(path) ? fault(kind) : 0; }

static int fault_on(const char *kind, int file) {
  return file >= 0 && file < 4096 && atomic_load(&known[file]) ? fault(kind) : 0;
}

static int noted(int file, const char *path) {
  if (file >= 0 && file < 4096) atomic_store(&known[file], is_meant(path) ? 1 : 0);
  return file;
}

#define OPEN(name)                                                  \
  int name(const char *path, int flags, ...) {                     \
    va_list list;                                                   \
    va_start(list, flags);                                          \
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;       \
    va_end(list);                                                   \
    if (fault_at("open", path)) return -1;                          \
    return noted(REAL(name)(path, flags, mode), path);              \
  }
OPEN(open)
OPEN(open64)

#define STAT(name)                                                  \
  int name(const char *path, struct stat *status) {                \
    return fault_at("stat", path) ? -1 : REAL(name)(path, status);  \
  }
STAT(stat)
STAT(lstat)
int stat64(const char *path, struct stat64 *status) { return fault_at("stat", path) ? -1 : REAL(stat64)(path, status); }
int lstat64(const char *path, struct stat64 *status) { return fault_at("stat", path) ? -1 : REAL(lstat64)(path, status); }

static int is_lock(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_GETLK || command == F_OFD_SETLK ||
         command == F_OFD_SETLKW || command == F_OFD_GETLK;
}

#define FCNTL(name)                                                 \
  int name(int file, int command, ...) {                           \
    va_list list;                                                   \
    va_start(list, command);                                        \
    void *argument = va_arg(list, void *);                          \
    va_end(list);                                                   \
    if (is_lock(command) && fault_on("lock", file)) return -1;      \
    return REAL(name)(file, command, argument);                     \
  }
FCNTL(fcntl)
FCNTL(fcntl64)

// A number that is used again for a socket is no store's file.
int close(int file) {
  if (file >= 0 && file < 4096) atomic_store(&known[file], 0);
  return REAL(close)(file);
}

int fsync(int file) { return fault_on("sync", file) ? -1 : REAL(fsync)(file); }
int fdatasync(int file) { return fault_on("sync", file) ? -1 : REAL(fdatasync)(file); }
int sync_file_range(int file, off64_t at, off64_t size, unsigned flags) {
  return fault_on("sync", file) ? -1 : REAL(sync_file_range)(file, at, size, flags);
}

ssize_t read(int file, void *bytes, size_t size) {
  return fault_on("read", file) ? -1 : REAL(read)(file, bytes, size);
}
ssize_t pread(int file, void *bytes, size_t size, off_t at) {
  return fault_on("read", file) ? -1 : REAL(pread)(file, bytes, size, at);
}
ssize_t pread64(int file, void *bytes, size_t size, off64_t at) {
  return fault_on("read", file) ? -1 : REAL(pread64)(file, bytes, size, at);
}
ssize_t write(int file, const void *bytes, size_t size) {
  return fault_on("write", file) ? -1 : REAL(write)(file, bytes, size);
}
ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) {
  return fault_on("write", file) ? -1 : REAL(pwrite)(file, bytes, size, at);
}
ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at) {
  return fault_on("write", file) ? -1 : REAL(pwrite64)(file, bytes, size, at);
}
int ftruncate(int file, off_t size) { return fault_on("write", file) ? -1 : REAL(ftruncate)(file, size); }
int ftruncate64(int file, off64_t size) { return fault_on("write", file) ? -1 : REAL(ftruncate64)(file, size); }
int rename(const char *from, const char *to) { return fault_at("rename", from) ? -1 : REAL(rename)(from, to); }
int unlink(const char *path) { return fault_at("unlink", path) ? -1 : REAL(unlink)(path); }
