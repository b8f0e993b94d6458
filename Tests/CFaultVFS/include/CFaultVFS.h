// An SQLite file system layer that counts the calls of chosen kinds and makes the n-th of them fail, or ends the
// process there. Each layer has a name and counts of its own, so that tests can run side by side.
#pragma once
#include <stdint.h>

#include "CStatementFaults.h"

enum {
  FAULT_OPEN = 1,
  FAULT_READ = 2,
  FAULT_WRITE = 4,
  FAULT_SYNC = 8,
  FAULT_TRUNCATE = 16,
  FAULT_LOCK = 32,      // of the file
  FAULT_SHARED_MEMORY = 64,
  FAULT_DELETE = 128,
  FAULT_SHARED_LOCK = 256,  // of the shared memory
};

enum {
  FAULT_ERROR = 1,      // an input/output error of the call's own kind; SQLITE_BUSY for a lock
  FAULT_FULL = 2,       // no room left
  FAULT_SHORT = 3,      // half of the bytes are written, then an error
  FAULT_KILL = 4,       // half of the bytes are written, then SIGKILL
  FAULT_REPLACED = 5,   // of FAULT_OPEN: the call succeeds, and NAME.next then takes the file's name
};

// Registers a layer of that name over the system's own; returns 0 when it could not.
int faultvfs_register(const char *name);
// The same, of a file system on which processes cannot share memory.
int faultvfs_register_without_shared_memory(const char *name);
// Makes the n-th call (from 1) of the given kinds fail, and all after it where `lasting`; 0 for none.
void faultvfs_arm(const char *name, int kinds, int64_t nth, int mode, int lasting);
// Calls of the kinds armed for, since arming.
int64_t faultvfs_count(const char *name);
// Takes the layer away, once no connection uses it.
void faultvfs_unregister(const char *name);
