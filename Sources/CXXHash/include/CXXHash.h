#pragma once
#include <stddef.h>
#include <stdint.h>

// XXH3-64 of the bytes; the fastest form that this processor has.
uint64_t cachefetch_xxh3(const void *bytes, size_t count, uint64_t seed);

// The same with what every processor of the kind has.
uint64_t cachefetch_xxh3_plain(const void *bytes, size_t count, uint64_t seed);

// Whether the vectors of AVX2 are used for long inputs.
int cachefetch_has_avx2(void);

// Of the header that was compiled in, as a number: 802 for 0.8.2.
int cachefetch_xxhash_version(void);
