// The same hash with the vectors of AVX2, half the steps of SSE2: every x86-64 processor has the latter, most both, so
// that who calls this has asked whether it is there. The plain form is `cachefetch_xxh3_plain`.
#if defined(__x86_64__)
#include "CXXHash.h"
#include <immintrin.h>

#define XXH_INLINE_ALL
#define XXH_VECTOR XXH_AVX2
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#endif
#include <xxhash.h>

uint64_t cachefetch_xxh3_avx2(const void *bytes, size_t count, uint64_t seed);
uint64_t cachefetch_xxh3_avx2(const void *bytes, size_t count, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, count, seed);
}
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
