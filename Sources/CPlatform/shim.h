#pragma once
// What the C library has and its Swift module does not.
#ifdef __linux__
#include <malloc.h>
#include <stdint.h>
#include <sys/eventfd.h>

extern int sync_file_range(int file, int64_t offset, int64_t bytes, unsigned int flags);

// Has the system begin to write a file to the disk, and does not wait for it.
static inline int cplatform_begin_writing(int file) {
  return sync_file_range(file, 0, 0, 2 /* SYNC_FILE_RANGE_WRITE */);
}

extern int memfd_create(const char *name, unsigned int flags);

// A file in memory, without a name in any folder, that no other program inherits.
static inline int cplatform_memory_file(const char *name) { return memfd_create(name, 1u /* MFD_CLOEXEC */); }

// By another name and without its type: the header that has both would take the types of <spawn.h> into this module.
extern int cplatform_add_close_from(void *actions, int from) __asm__("posix_spawn_file_actions_addclosefrom_np");

// A program that is started inherits no descriptor from this one on.
static inline int cplatform_close_from(void *actions, int from) { return cplatform_add_close_from(actions, from); }

// A descriptor that is readable once a number has been written to it; -1 where there is none left.
static inline int cplatform_make_event(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// One heap for all threads.
static inline int cplatform_share_heap(void) { return mallopt(M_ARENA_MAX, 1); }
#endif
