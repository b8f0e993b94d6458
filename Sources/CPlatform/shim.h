#pragma once
// Functions of the C library that its Swift module lacks.
#ifdef __linux__
#include <malloc.h>
#include <stdint.h>
#include <sys/eventfd.h>

extern int sync_file_range(int file, int64_t offset, int64_t bytes, unsigned int flags);

// Starts writing a file's dirty pages to the disk without waiting for the write.
static inline int cplatform_begin_writing(int file) {
  return sync_file_range(file, 0, 0, 2 /* SYNC_FILE_RANGE_WRITE */);
}

extern int memfd_create(const char *name, unsigned int flags);

// An anonymous file in memory, closed on exec.
static inline int cplatform_memory_file(const char *name) { return memfd_create(name, 1u /* MFD_CLOEXEC */); }

// Declared under another name and with another type, because its header would add the types of <spawn.h> to this
// module.
extern int cplatform_add_close_from(void *actions, int from) __asm__("posix_spawn_file_actions_addclosefrom_np");

// A spawned program inherits no descriptor numbered `from` or above.
static inline int cplatform_close_from(void *actions, int from) { return cplatform_add_close_from(actions, from); }

// A descriptor that is readable once a number has been written to it; -1 if no descriptor is left.
static inline int cplatform_make_event(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// Makes all threads share one heap.
static inline int cplatform_share_heap(void) { return mallopt(M_ARENA_MAX, 1); }
#endif
