#pragma once
// xxHash 0.8.1 by Yann Collet, under the BSD 2-clause licence that the header begins with; byte for byte the one of Debian's
// libxxhash-dev 0.8.1-1. Apple's systems have no package that gives it.
//
// Header-only: no library to link. No warnings from code that is not ours.
#pragma clang system_header
#define XXH_INLINE_ALL
#include "xxhash-0.8.1/xxhash.h"
