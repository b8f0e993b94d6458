// The same hash with AVX2, in half the steps of SSE2. Every x86-64 processor has SSE2 but not every one has AVX2, so
// callers check for it first. The plain form is `cachefetch_xxh3_plain`.
#if defined(__x86_64__)
#include "CXXHash.h"
#include <immintrin.h>

#define XXH_VECTOR XXH_AVX2
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#endif
#include "../Vendored/Vendored.h"

uint64_t cachefetch_xxh3_avx2(const void *bytes, size_t count, uint64_t seed);
uint64_t cachefetch_xxh3_avx2(const void *bytes, size_t count, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, count, seed);
}
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
