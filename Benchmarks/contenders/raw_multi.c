// The floor for a preload: a libcurl multi handle that fetches a list, so many at a time, alone or with one SQLite upsert for
// each body, 64 to a transaction.
//
// usage: raw_multi LIST WIDTH [DATABASE]
// LIST has one URL a line. With DATABASE the bodies are upserted and committed (WAL, synchronous=NORMAL).
#define _GNU_SOURCE
#include <curl/curl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slot {
  CURL *easy;
  char *url, *body;
  size_t used, room;
};

static sqlite3 *db;
static sqlite3_stmt *upsert;
static int uncommitted;

static void die(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static void run(const char *sql) {
  if (db && sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) die(sql, sqlite3_errmsg(db));
}

static size_t take(char *bytes, size_t size, size_t count, void *context) {
  struct slot *slot = context;
  size_t more = size * count;
  if (slot->used + more > slot->room) slot->body = realloc(slot->body, slot->room = (slot->used + more) * 2);
  memcpy(slot->body + slot->used, bytes, more);
  slot->used += more;
  return more;
}

static void keep(struct slot *slot) {
  if (!db) return;
  if (uncommitted == 0) run("BEGIN IMMEDIATE");
  sqlite3_bind_text(upsert, 1, slot->url, -1, SQLITE_STATIC);
  sqlite3_bind_blob(upsert, 2, slot->body, (int)slot->used, SQLITE_STATIC);
  if (sqlite3_step(upsert) != SQLITE_DONE || sqlite3_changes(db) != 1) die(slot->url, sqlite3_errmsg(db));
  sqlite3_reset(upsert);
  if (++uncommitted == 64) run("COMMIT"), uncommitted = 0;
}

// Gives the slot the next URL of the list; 0 where there is none.
static int next(FILE *list, struct slot *slot, CURLM *multi) {
  size_t room = 0;
  free(slot->url);
  slot->url = NULL;
  ssize_t length = getline(&slot->url, &room, list);
  if (length <= 0) return 0;
  slot->url[strcspn(slot->url, "\r\n")] = 0;
  slot->used = 0;
  curl_easy_setopt(slot->easy, CURLOPT_URL, slot->url);
  curl_multi_add_handle(multi, slot->easy);
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 3) { fprintf(stderr, "usage: raw_multi LIST WIDTH [DATABASE]\n"); return 64; }
  FILE *list = fopen(argv[1], "r");
  if (!list) die(argv[1], "cannot be read");
  int width = atoi(argv[2]), running = 0;
  if (argc > 3) {
    if (sqlite3_open(argv[3], &db) != SQLITE_OK) die(argv[3], "cannot be opened");
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=NORMAL");
    run("CREATE TABLE IF NOT EXISTS r(id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, body BLOB NOT NULL)");
    const char *sql = "INSERT INTO r(url, body) VALUES (?,?) ON CONFLICT(url) DO UPDATE SET body = excluded.body";
    if (sqlite3_prepare_v2(db, sql, -1, &upsert, NULL) != SQLITE_OK) die(sql, sqlite3_errmsg(db));
  }
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURLM *multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)width);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)width);
  struct slot *slots = calloc((size_t)width, sizeof *slots);
  for (int i = 0; i < width; i++) {
    slots[i].easy = curl_easy_init();
    curl_easy_setopt(slots[i].easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(slots[i].easy, CURLOPT_WRITEDATA, &slots[i]);
    curl_easy_setopt(slots[i].easy, CURLOPT_PRIVATE, &slots[i]);
    running += next(list, &slots[i], multi);
  }
  while (running > 0) {
    int active, left;
    curl_multi_perform(multi, &active);
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
      struct slot *slot;
      long status = 0;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&slot);
      curl_easy_getinfo(slot->easy, CURLINFO_RESPONSE_CODE, &status);
      if (message->data.result != CURLE_OK || status != 200) die(slot->url, curl_easy_strerror(message->data.result));
      curl_multi_remove_handle(multi, slot->easy);
      keep(slot);
      running -= !next(list, slot, multi);
    }
    if (running > 0) curl_multi_poll(multi, NULL, 0, 1000, NULL);
  }
  if (uncommitted > 0) run("COMMIT");
  return 0;
}
