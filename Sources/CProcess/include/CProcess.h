// Process-wide settings of the command: its arguments, its descriptors, the threads of Swift's tasks. For the
// executable only: a library leaves all of this to its program.
#pragma once

#if defined(__linux__)

#include <stdbool.h>

/// The words of the command line, the program's name first, as the C library passed them; 0 and NULL if it did not.
/// Swift's runtime would search /proc/self/maps for them, which may be missing.
int cprocess_argument_count(void);
char *const *cprocess_arguments(void);

/// Raises the limit of open descriptors as far as this process may.
void cprocess_raise_descriptor_limit(void);

/// Runs Swift's tasks on threads created here. The runtime's own threads, from libdispatch, need descriptors and /proc
/// and abort the process if either is missing.
void cprocess_take_over_tasks(void);

/// Disables core files and backtraces of crashes, and keeps the user's other processes from reading this one's memory.
void cprocess_keep_memory_private(void);

/// Creates a ruleset of the file accesses that stay allowed (Landlock); -1 if the kernel has no Landlock, -2
/// if a filter of system calls (seccomp) would kill the process for asking.
int cprocess_confinement_begin(void);
/// Allows reading, or reading and writing, one file or all files below a folder; `false` if the path does not exist.
bool cprocess_confinement_allow(int rules, const char *path, bool writes);
/// Restricts the calling thread, and every thread it creates from now on, to the ruleset, irrevocably.
bool cprocess_confinement_enforce(int rules);

/// The libraries linked statically, with their packages' revisions: `sqlite3 3.40.1-2+deb12u2, …`; empty unless
/// scripts/lib/link-shipped linked the binary.
const char *cprocess_linked_libraries(void);

#endif
