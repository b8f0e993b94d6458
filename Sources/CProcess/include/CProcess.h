// What the command does as a process of its own system: its arguments, its descriptors, the threads that Swift's tasks
// run on. For the executable only: a library leaves all of this to the program it is part of.
#pragma once

#if defined(__linux__)

#include <stdbool.h>

/// The words of the command line, the program's name first, as the C library handed them over; 0 and NULL where it did
/// not. Swift's own `CommandLine` searches /proc/self/maps for them, which may not be there.
int cprocess_argument_count(void);
char *const *cprocess_arguments(void);

/// Raises the limit of open descriptors as far as this process may.
void cprocess_raise_descriptor_limit(void);

/// Has Swift's tasks run on threads made here. The runtime's own, libdispatch's, need descriptors and /proc, and end
/// the process where either is missing.
void cprocess_take_over_tasks(void);

/// No core files of this process, and no look into its memory by others of the user's.
void cprocess_keep_memory_private(void);

/// Begins a list of what a thread may still do with files (Landlock); -1 where the kernel has no such thing.
int cprocess_confinement_begin(void);
/// Lets files below a path, or one file, be read, or be read and written; `false` where there is no such path.
bool cprocess_confinement_allow(int rules, const char *path, bool writes);
/// Holds the calling thread, and every thread it makes from now on, to the list, for good.
bool cprocess_confinement_enforce(int rules);

/// The libraries that are linked in, with their packages' revisions: `sqlite3 3.40.1-2+deb12u2, …`; empty where the
/// linker of the shipped binary was not used.
const char *cprocess_linked_libraries(void);

#endif
