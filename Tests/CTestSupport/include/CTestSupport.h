#pragma once
// What Swift's Glibc module does not show, because it is built without _GNU_SOURCE.
// No system header is included here: its types would then belong to this module and not to Glibc's.

// `actions` is a posix_spawn_file_actions_t.
// In the child: close every descriptor from `first` on.
void testsupport_close_from(void *actions, int first);
// In the child: change the working directory.
void testsupport_change_directory(void *actions, const char *path);
// Collects a child that has ended. Returns its status; stores the most memory it held, in KiB.
int testsupport_collect(int pid, long *peak_kib);
// Which version of Landlock the kernel has; 0 or less for none.
int testsupport_landlock_version(void);
// A file in memory that takes so many bytes; writing more fails with EPERM. Returns its descriptor, or -1.
int testsupport_file_with_room(long bytes);
// Fills `bytes` with numbers that follow from `seed`.
void testsupport_fill(unsigned char *bytes, long count, unsigned long long seed);
// Whether some bytes have others among them.
int testsupport_contains(const unsigned char *bytes, long count, const unsigned char *wanted, long wanted_count);
// Whether the processor has the vectors of AVX2, as the compiler's own question says.
int testsupport_has_avx2(void);
