#pragma once
#include <stddef.h>
#include <stdint.h>

// XXH3-64 of the bytes, in the fastest form this processor supports.
uint64_t cachefetch_xxh3(const void *bytes, size_t count, uint64_t seed);

// The same, with only the instructions every processor of the architecture has.
uint64_t cachefetch_xxh3_plain(const void *bytes, size_t count, uint64_t seed);

// Whether the vectors of AVX2 are used for long inputs.
int cachefetch_has_avx2(void);

// The version of the xxHash header that was compiled in: 802 for 0.8.2.
int cachefetch_xxhash_version(void);
