#include "CXXHash.h"
#include "Fast/HasAVX2.h"
#include "Vendored/Vendored.h"

int cachefetch_xxhash_version(void) { return XXH_VERSION_NUMBER; }

uint64_t cachefetch_xxh3_plain(const void *bytes, size_t count, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, count, seed);
}

#if defined(__x86_64__)
uint64_t cachefetch_xxh3_avx2(const void *bytes, size_t count, uint64_t seed);

uint64_t cachefetch_xxh3(const void *bytes, size_t count, uint64_t seed) {
  // Short inputs do not reach the vector loop.
  if (count > 1024 && HAS_AVX2()) return cachefetch_xxh3_avx2(bytes, count, seed);
  return cachefetch_xxh3_plain(bytes, count, seed);
}

int cachefetch_has_avx2(void) { return HAS_AVX2() ? 1 : 0; }
#else
int cachefetch_has_avx2(void) { return 0; }

uint64_t cachefetch_xxh3(const void *bytes, size_t count, uint64_t seed) {
  return cachefetch_xxh3_plain(bytes, count, seed);
}
#endif
