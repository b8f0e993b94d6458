#include "CXXHash.h"
// Header-only: no library to link.
#define XXH_INLINE_ALL
#include <xxhash.h>

int cachefetch_xxhash_version(void) { return XXH_VERSION_NUMBER; }

#if defined(__x86_64__)
// What the C library has found out when the program was loaded. The compiler's own way asks the processor once more, before
// `main`; under a hypervisor each such question takes as long as reading some pages of a file.
#if defined(__has_include) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define HAS_AVX2() CPU_FEATURE_ACTIVE(AVX2)
#else
#define HAS_AVX2() __builtin_cpu_supports("avx2")
#endif

uint64_t cachefetch_xxh3_avx2(const void *bytes, size_t count, uint64_t seed);

uint64_t cachefetch_xxh3(const void *bytes, size_t count, uint64_t seed) {
  // Short inputs take none of the wide steps.
  if (count > 1024 && HAS_AVX2()) return cachefetch_xxh3_avx2(bytes, count, seed);
  return XXH3_64bits_withSeed(bytes, count, seed);
}
#else
uint64_t cachefetch_xxh3(const void *bytes, size_t count, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, count, seed);
}
#endif
