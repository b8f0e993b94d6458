#pragma once
// What the C library has and its Swift module does not.
#ifdef __linux__
#include <malloc.h>
#include <stdint.h>

extern int sync_file_range(int file, int64_t offset, int64_t bytes, unsigned int flags);

// Has the system begin to write a file to the disk, and does not wait for it.
static inline int cplatform_begin_writing(int file) {
  return sync_file_range(file, 0, 0, 2 /* SYNC_FILE_RANGE_WRITE */);
}

// One heap for all threads.
static inline int cplatform_share_heap(void) { return mallopt(M_ARENA_MAX, 1); }
#endif
