#pragma once
#include <stddef.h>
#include <stdint.h>

// XXH3-64 of the bytes; the fastest form that this processor has.
uint64_t cachefetch_xxh3(const void *bytes, size_t count, uint64_t seed);

// Of the header that was compiled in, as a number: 802 for 0.8.2.
int cachefetch_xxhash_version(void);
