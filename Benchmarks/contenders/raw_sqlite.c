// The floor for the store: SQLite in C and nothing else.
//
// usage: raw_sqlite DATABASE fill ROWS BYTES          make a table of ROWS bodies of BYTES bytes
//        raw_sqlite DATABASE select COUNT ROWS        a prepared select by key and one copy of the bytes
//        raw_sqlite DATABASE upsert COUNT ROWS BYTES  a prepared upsert, each committed (WAL, synchronous=NORMAL)
// Prints the time of each operation in nanoseconds, one a line.
#define _GNU_SOURCE
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static sqlite3 *db;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void check(int code, const char *what) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
  fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
  exit(1);
}

static void run(const char *sql) { check(sqlite3_exec(db, sql, NULL, NULL, NULL), sql); }

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *statement;
  check(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL), sql);
  return statement;
}

static void url_of(char *text, long number) { sprintf(text, "http://127.0.0.1/item/%ld", number); }

static const char upsert_sql[] =
    "INSERT INTO r(url, fields, body) VALUES (?,?,?) "
    "ON CONFLICT(url) DO UPDATE SET fields = excluded.fields, body = excluded.body";
static const char fields[] = "Content-Type: application/json\r\nETag: \"1\"\r\nCache-Control: no-cache\r\n";

static void put(sqlite3_stmt *statement, long key, const char *body, int bytes) {
  char url[64];
  url_of(url, key);
  sqlite3_bind_text(statement, 1, url, -1, SQLITE_STATIC);
  sqlite3_bind_blob(statement, 2, fields, sizeof fields - 1, SQLITE_STATIC);
  sqlite3_bind_blob(statement, 3, body, bytes, SQLITE_STATIC);
  check(sqlite3_step(statement), "upsert");
  sqlite3_reset(statement);
  // An upsert that a guard turned into nothing looks very fast.
  if (sqlite3_changes(db) != 1) { fprintf(stderr, "upsert changed nothing\n"); exit(1); }
}

int main(int argc, char **argv) {
  if (argc < 5) { fprintf(stderr, "usage: see the source\n"); return 64; }
  const char *mode = argv[2];
  long count = atol(argv[3]), rows = atol(argv[4]);
  check(sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL), "open");
  run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
      "CREATE TABLE IF NOT EXISTS r(id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, fields BLOB NOT NULL, body BLOB NOT NULL)");
  if (strcmp(mode, "fill") == 0) {
    int bytes = (int)rows;
    char *body = malloc((size_t)bytes);
    memset(body, 'x', (size_t)bytes);
    sqlite3_stmt *statement = prepare(upsert_sql);
    run("BEGIN IMMEDIATE");
    for (long i = 0; i < count; i++) put(statement, i, body, bytes);
    run("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
    return 0;
  }
  uint64_t *times = malloc(sizeof(uint64_t) * (size_t)count);
  char url[64], *copy = malloc(64 << 20);
  long sum = 0;
  if (strcmp(mode, "select") == 0) {
    sqlite3_stmt *statement = prepare("SELECT fields, body FROM r WHERE url = ?");
    for (long i = 0; i < count; i++) {
      uint64_t start = now_ns();
      url_of(url, i % rows);
      sqlite3_bind_text(statement, 1, url, -1, SQLITE_STATIC);
      if (sqlite3_step(statement) != SQLITE_ROW) { fprintf(stderr, "no row %s\n", url); return 1; }
      int bytes = sqlite3_column_bytes(statement, 1);
      memcpy(copy, sqlite3_column_blob(statement, 1), (size_t)bytes);
      sqlite3_reset(statement);
      times[i] = now_ns() - start;
      sum += copy[bytes / 2];
    }
  } else {
    int bytes = atoi(argv[5]);
    memset(copy, 'y', (size_t)bytes);
    sqlite3_stmt *statement = prepare(upsert_sql);
    for (long i = 0; i < count; i++) {
      uint64_t start = now_ns();
      put(statement, i % rows, copy, bytes);
      times[i] = now_ns() - start;
    }
  }
  for (long i = 0; i < count; i++) printf("%lu\n", times[i]);
  return sum == -1;
}
