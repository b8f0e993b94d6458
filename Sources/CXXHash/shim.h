#pragma once
// Header-only: no library to link, and the compiler can specialise the hash for short inputs.
#define XXH_INLINE_ALL
#include <xxhash.h>
