// The floor for a refresh: a libcurl easy handle on one warm connection, alone or with one SQLite upsert after it.
//
// usage: raw_curl URL COUNT [DATABASE | -] [ETAG]
// With DATABASE each body, never the one before, is upserted and committed (WAL, synchronous=NORMAL); with ETAG the request is conditional.
// Prints the time of each exchange in nanoseconds, one a line; the first, which connects, is left out.
#define _GNU_SOURCE
#include <curl/curl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char *body;
static size_t used, room;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static size_t take(char *bytes, size_t size, size_t count, void *unused) {
  (void)unused;
  size_t more = size * count;
  if (used + more > room) body = realloc(body, room = (used + more) * 2);
  memcpy(body + used, bytes, more);
  used += more;
  return more;
}

int main(int argc, char **argv) {
  if (argc < 3) { fprintf(stderr, "usage: raw_curl URL COUNT [DATABASE | -] [ETAG]\n"); return 64; }
  const char *url = argv[1];
  long count = atol(argv[2]);
  sqlite3 *db = NULL;
  sqlite3_stmt *upsert = NULL;
  if (argc > 3 && strcmp(argv[3], "-") != 0) {
    if (sqlite3_open(argv[3], &db) != SQLITE_OK) return 1;
    sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                     "CREATE TABLE IF NOT EXISTS r(id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, body BLOB NOT NULL)",
                 NULL, NULL, NULL);
    if (sqlite3_prepare_v2(db, "INSERT INTO r(url, body) VALUES (?,?) ON CONFLICT(url) DO UPDATE SET body = excluded.body",
                           -1, &upsert, NULL) != SQLITE_OK) return 1;
  }
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL *easy = curl_easy_init();
  struct curl_slist *list = NULL;
  if (argc > 4) {
    char field[256];
    snprintf(field, sizeof field, "If-None-Match: %s", argv[4]);
    list = curl_slist_append(list, field);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
  }
  curl_easy_setopt(easy, CURLOPT_URL, url);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
  uint64_t *times = malloc(sizeof(uint64_t) * (size_t)(count + 1));
  for (long i = 0; i <= count; i++) {
    uint64_t start = now_ns();
    used = 0;
    CURLcode code = curl_easy_perform(easy);
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK || (status != 200 && status != 304)) {
      fprintf(stderr, "%s: %s, status %ld\n", url, curl_easy_strerror(code), status);
      return 1;
    }
    if (upsert && status == 200) {
      // SQLite writes no page that stays as it is.
      if (used) body[0] = (char)('a' + i % 26);
      sqlite3_bind_text(upsert, 1, url, -1, SQLITE_STATIC);
      sqlite3_bind_blob(upsert, 2, body, (int)used, SQLITE_STATIC);
      if (sqlite3_step(upsert) != SQLITE_DONE || sqlite3_changes(db) != 1) return 1;
      sqlite3_reset(upsert);
    }
    times[i] = now_ns() - start;
  }
  for (long i = 1; i <= count; i++) printf("%lu\n", times[i]);
  return 0;
}
