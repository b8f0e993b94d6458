#pragma once
// Whether the processor has the vectors of AVX2, which the system keeps on a change of threads.
//
// What the C library has found out when the program was loaded. The compiler's own way, which is the portable one below,
// asks the processor some ten times once more before `main`; under a hypervisor each such question takes 10 µs.
#if defined(__x86_64__)
#if defined(__has_include) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define HAS_AVX2() CPU_FEATURE_ACTIVE(AVX2)
#else
#define HAS_AVX2() __builtin_cpu_supports("avx2")
#endif
#endif
