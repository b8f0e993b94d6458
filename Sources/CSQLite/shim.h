#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT and SQLITE_STATIC are casts, which Swift cannot import.
static inline int cachefetch_bind_text_copy(sqlite3_stmt *s, int i, const char *text, int bytes) {
  return sqlite3_bind_text(s, i, text, bytes, SQLITE_TRANSIENT);
}
static inline int cachefetch_bind_text_static(sqlite3_stmt *s, int i, const char *text, int bytes) {
  return sqlite3_bind_text(s, i, text, bytes, SQLITE_STATIC);
}
static inline int cachefetch_bind_blob_static(sqlite3_stmt *s, int i, const void *bytes, int count) {
  return sqlite3_bind_blob(s, i, bytes, count, SQLITE_STATIC);
}
// Variadic, which Swift cannot call.
static inline int cachefetch_config_memory_counts(int on) {
  return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, on);
}
static inline int cachefetch_config_pages_ahead(int pages) {
  return sqlite3_config(SQLITE_CONFIG_PAGECACHE, (void *)0, 0, pages);
}
static inline int cachefetch_db_config_flag(sqlite3 *db, int op, int value) {
  return sqlite3_db_config(db, op, value, (int *)0);
}
