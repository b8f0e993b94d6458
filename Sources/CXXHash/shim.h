#pragma once
// Header-only: no library to link, and the compiler can specialise the hash for short inputs.
#define XXH_INLINE_ALL
#include <xxhash.h>

// The inline form renames every function by a macro, which Swift does not see.
static inline uint64_t cachefetch_xxh3(const void *bytes, size_t count, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, count, seed);
}

// Of the header that was compiled in, as a number: 802 for 0.8.2.
static inline int cachefetch_xxhash_version(void) { return XXH_VERSION_NUMBER; }
