#pragma once
// Whether the processor has AVX2 and the system saves its registers on a context switch.
//
// glibc finds this out when the program is loaded. The compiler's builtin, the portable form below, executes CPUID
// about ten more times before `main`; under a hypervisor each takes 10 µs.
#if defined(__x86_64__)
#if defined(__has_include) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define HAS_AVX2() CPU_FEATURE_ACTIVE(AVX2)
#else
#define HAS_AVX2() __builtin_cpu_supports("avx2")
#endif
#endif
