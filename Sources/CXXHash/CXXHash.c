#include "CXXHash.h"
// Header-only: no library to link.
#define XXH_INLINE_ALL
#include <xxhash.h>

int cachefetch_xxhash_version(void) { return XXH_VERSION_NUMBER; }

#if defined(__x86_64__)
uint64_t cachefetch_xxh3_avx2(const void *bytes, size_t count, uint64_t seed);

uint64_t cachefetch_xxh3(const void *bytes, size_t count, uint64_t seed) {
  // Short inputs take none of the wide steps.
  if (count > 1024 && __builtin_cpu_supports("avx2")) return cachefetch_xxh3_avx2(bytes, count, seed);
  return XXH3_64bits_withSeed(bytes, count, seed);
}
#else
uint64_t cachefetch_xxh3(const void *bytes, size_t count, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, count, seed);
}
#endif
