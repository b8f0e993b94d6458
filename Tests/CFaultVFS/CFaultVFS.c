#include "CFaultVFS.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Layer {
  sqlite3_vfs vfs;
  sqlite3_vfs *real;
  int kinds, mode, lasting, plain;
  int64_t nth, count;
  char name[64];
} Layer;

typedef struct File {
  sqlite3_file base;
  Layer *layer;
  sqlite3_file *real;
} File;

// The mode of this call: 0 to go on.
static int fault(Layer *layer, int kind) {
  if (!(__atomic_load_n(&layer->kinds, __ATOMIC_SEQ_CST) & kind)) return 0;
  int64_t number = __atomic_add_fetch(&layer->count, 1, __ATOMIC_SEQ_CST);
  int64_t nth = __atomic_load_n(&layer->nth, __ATOMIC_SEQ_CST);
  int lasting = __atomic_load_n(&layer->lasting, __ATOMIC_SEQ_CST);
  if (nth == 0 || number < nth || (number > nth && !lasting)) return 0;
  return __atomic_load_n(&layer->mode, __ATOMIC_SEQ_CST);
}

static int failed(int mode, int code) {
  if (mode == FAULT_KILL) kill(getpid(), SIGKILL);
  return mode == FAULT_FULL ? SQLITE_FULL : code;
}

#define REAL(f) (((File *)(f))->real)
#define LAYER(f) (((File *)(f))->layer)

static int file_close(sqlite3_file *f) { return REAL(f)->pMethods->xClose(REAL(f)); }

static int file_read(sqlite3_file *f, void *bytes, int count, sqlite3_int64 at) {
  int mode = fault(LAYER(f), FAULT_READ);
  if (mode) return failed(mode, SQLITE_IOERR_READ);
  return REAL(f)->pMethods->xRead(REAL(f), bytes, count, at);
}

static int file_write(sqlite3_file *f, const void *bytes, int count, sqlite3_int64 at) {
  int mode = fault(LAYER(f), FAULT_WRITE);
  if (mode == FAULT_SHORT || mode == FAULT_KILL) REAL(f)->pMethods->xWrite(REAL(f), bytes, count / 2, at);
  if (mode) return failed(mode, SQLITE_IOERR_WRITE);
  return REAL(f)->pMethods->xWrite(REAL(f), bytes, count, at);
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size) {
  int mode = fault(LAYER(f), FAULT_TRUNCATE);
  if (mode) return failed(mode, SQLITE_IOERR_TRUNCATE);
  return REAL(f)->pMethods->xTruncate(REAL(f), size);
}

static int file_sync(sqlite3_file *f, int flags) {
  int mode = fault(LAYER(f), FAULT_SYNC);
  if (mode) return failed(mode, SQLITE_IOERR_FSYNC);
  return REAL(f)->pMethods->xSync(REAL(f), flags);
}

static int file_size(sqlite3_file *f, sqlite3_int64 *size) { return REAL(f)->pMethods->xFileSize(REAL(f), size); }

static int file_lock(sqlite3_file *f, int level) {
  int mode = fault(LAYER(f), FAULT_LOCK);
  if (mode) return failed(mode, SQLITE_BUSY);
  return REAL(f)->pMethods->xLock(REAL(f), level);
}

static int file_unlock(sqlite3_file *f, int level) { return REAL(f)->pMethods->xUnlock(REAL(f), level); }
static int file_reserved(sqlite3_file *f, int *out) { return REAL(f)->pMethods->xCheckReservedLock(REAL(f), out); }
static int file_control(sqlite3_file *f, int op, void *arg) { return REAL(f)->pMethods->xFileControl(REAL(f), op, arg); }
static int file_sector(sqlite3_file *f) { return REAL(f)->pMethods->xSectorSize(REAL(f)); }
static int file_device(sqlite3_file *f) { return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f)); }

static int file_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out) {
  int mode = fault(LAYER(f), FAULT_SHARED_MEMORY);
  if (mode) return failed(mode, SQLITE_IOERR_SHMMAP);
  return REAL(f)->pMethods->xShmMap(REAL(f), page, size, extend, out);
}

static int file_shm_lock(sqlite3_file *f, int offset, int n, int flags) {
  if (flags & SQLITE_SHM_LOCK) {
    int mode = fault(LAYER(f), FAULT_SHARED_LOCK);
    if (mode) return failed(mode, SQLITE_BUSY);
  }
  return REAL(f)->pMethods->xShmLock(REAL(f), offset, n, flags);
}

static void file_shm_barrier(sqlite3_file *f) { REAL(f)->pMethods->xShmBarrier(REAL(f)); }
static int file_shm_unmap(sqlite3_file *f, int delete) { return REAL(f)->pMethods->xShmUnmap(REAL(f), delete); }

static const sqlite3_io_methods methods = {
  2, file_close, file_read, file_write, file_truncate, file_sync, file_size, file_lock, file_unlock, file_reserved,
  file_control, file_sector, file_device, file_shm_map, file_shm_lock, file_shm_barrier, file_shm_unmap, 0, 0,
};

// A file system without shared memory says so by an older version of its methods.
static const sqlite3_io_methods plain_methods = {
  1, file_close, file_read, file_write, file_truncate, file_sync, file_size, file_lock, file_unlock, file_reserved,
  file_control, file_sector, file_device, 0, 0, 0, 0, 0, 0,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out) {
  Layer *layer = (Layer *)vfs;
  File *file = (File *)f;
  file->base.pMethods = 0;
  int mode = fault(layer, FAULT_OPEN);
  if (mode && mode != FAULT_REPLACED) return failed(mode, SQLITE_CANTOPEN);
  file->layer = layer;
  file->real = (sqlite3_file *)&file[1];
  int code = layer->real->xOpen(layer->real, name, file->real, flags, out);
  if (code == SQLITE_OK) file->base.pMethods = layer->plain ? &plain_methods : &methods;
  if (mode == FAULT_REPLACED) {
    char next[512];
    snprintf(next, sizeof(next), "%s.next", name);
    rename(next, name);
  }
  return code;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync) {
  Layer *layer = (Layer *)vfs;
  int mode = fault(layer, FAULT_DELETE);
  if (mode) return failed(mode, SQLITE_IOERR_DELETE);
  return layer->real->xDelete(layer->real, name, sync);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out) {
  sqlite3_vfs *real = ((Layer *)vfs)->real;
  return real->xAccess(real, name, flags, out);
}

static int vfs_path(sqlite3_vfs *vfs, const char *name, int count, char *out) {
  sqlite3_vfs *real = ((Layer *)vfs)->real;
  return real->xFullPathname(real, name, count, out);
}

static int vfs_random(sqlite3_vfs *vfs, int count, char *out) {
  sqlite3_vfs *real = ((Layer *)vfs)->real;
  return real->xRandomness(real, count, out);
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds) {
  sqlite3_vfs *real = ((Layer *)vfs)->real;
  return real->xSleep(real, microseconds);
}

static int vfs_time(sqlite3_vfs *vfs, double *out) {
  sqlite3_vfs *real = ((Layer *)vfs)->real;
  return real->xCurrentTime(real, out);
}

static int vfs_error(sqlite3_vfs *vfs, int count, char *out) {
  sqlite3_vfs *real = ((Layer *)vfs)->real;
  return real->xGetLastError ? real->xGetLastError(real, count, out) : 0;
}

static int registered(const char *name, int plain) {
  sqlite3_vfs *real = sqlite3_vfs_find(0);
  Layer *layer = calloc(1, sizeof(Layer));
  if (!real || !layer || strlen(name) >= sizeof(layer->name)) {
    free(layer);
    return 0;
  }
  strcpy(layer->name, name);
  layer->real = real;
  layer->plain = plain;
  layer->vfs = (sqlite3_vfs){
    .iVersion = 1, .szOsFile = (int)sizeof(File) + real->szOsFile, .mxPathname = real->mxPathname,
    .zName = layer->name, .xOpen = vfs_open, .xDelete = vfs_delete, .xAccess = vfs_access, .xFullPathname = vfs_path,
    .xRandomness = vfs_random, .xSleep = vfs_sleep, .xCurrentTime = vfs_time, .xGetLastError = vfs_error,
  };
  return sqlite3_vfs_register(&layer->vfs, 0) == SQLITE_OK;
}

int faultvfs_register(const char *name) { return registered(name, 0); }
int faultvfs_register_without_shared_memory(const char *name) { return registered(name, 1); }

void faultvfs_arm(const char *name, int kinds, int64_t nth, int mode, int lasting) {
  Layer *layer = (Layer *)sqlite3_vfs_find(name);
  if (!layer) return;
  __atomic_store_n(&layer->kinds, 0, __ATOMIC_SEQ_CST);
  __atomic_store_n(&layer->mode, mode, __ATOMIC_SEQ_CST);
  __atomic_store_n(&layer->lasting, lasting, __ATOMIC_SEQ_CST);
  __atomic_store_n(&layer->nth, nth, __ATOMIC_SEQ_CST);
  __atomic_store_n(&layer->count, 0, __ATOMIC_SEQ_CST);
  __atomic_store_n(&layer->kinds, kinds, __ATOMIC_SEQ_CST);
}

int64_t faultvfs_count(const char *name) {
  Layer *layer = (Layer *)sqlite3_vfs_find(name);
  return layer ? __atomic_load_n(&layer->count, __ATOMIC_SEQ_CST) : 0;
}

void faultvfs_unregister(const char *name) {
  Layer *layer = (Layer *)sqlite3_vfs_find(name);
  if (!layer) return;
  sqlite3_vfs_unregister(&layer->vfs);
  free(layer);
}
