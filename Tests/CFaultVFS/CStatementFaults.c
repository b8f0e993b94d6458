#include "CStatementFaults.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Never freed: connections keep a pointer to it.
typedef struct Place {
  struct Place *next;
  char *path;
  int64_t nth, count;
  char refused[96];
} Place;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Place *places;

static Place *place_of(const char *path) {
  pthread_mutex_lock(&lock);
  Place *place = places;
  for (; place; place = place->next) {
    if (!strncmp(place->path, path, strlen(place->path))) break;
  }
  pthread_mutex_unlock(&lock);
  return place;
}

static const char *name_of(int action) {
  switch (action) {
  case SQLITE_SELECT: return "select";
  case SQLITE_INSERT: return "insert";
  case SQLITE_UPDATE: return "update";
  case SQLITE_DELETE: return "delete";
  case SQLITE_PRAGMA: return "pragma";
  case SQLITE_TRANSACTION: return "transaction";
  default: return NULL;
  }
}

static int judge(void *context, int action, const char *first, const char *second, const char *database,
                 const char *trigger) {
  Place *place = context;
  const char *name = name_of(action);
  if (!name) return SQLITE_OK;
  int64_t number = __atomic_add_fetch(&place->count, 1, __ATOMIC_SEQ_CST);
  if (number != __atomic_load_n(&place->nth, __ATOMIC_SEQ_CST)) return SQLITE_OK;
  snprintf(place->refused, sizeof place->refused, "%s %s", name, first ? first : "");
  return SQLITE_DENY;
}

// A statement that is kept is judged when it is prepared alone. Setting the function again makes SQLite prepare each anew
// at its next use, so that every use is judged.
static int started(unsigned event, void *context, void *statement, void *text) {
  sqlite3_set_authorizer(sqlite3_db_handle(statement), judge, context);
  return 0;
}

static int opened(sqlite3 *database, const char **error, const struct sqlite3_api_routines *routines) {
  const char *path = sqlite3_db_filename(database, "main");
  Place *place = path ? place_of(path) : NULL;
  if (!place) return SQLITE_OK;
  sqlite3_trace_v2(database, SQLITE_TRACE_STMT, started, place);
  return sqlite3_set_authorizer(database, judge, place);
}

int statementfaults_begin(const char *path) {
  Place *place = calloc(1, sizeof *place);
  if (!place || !(place->path = strdup(path))) return 0;
  pthread_mutex_lock(&lock);
  place->next = places;
  places = place;
  pthread_mutex_unlock(&lock);
  // Known to SQLite once, however often it is told.
  return sqlite3_auto_extension((void (*)(void))opened) == SQLITE_OK;
}

void statementfaults_end(const char *path) {
  pthread_mutex_lock(&lock);
  for (Place **link = &places; *link; link = &(*link)->next) {
    if (strcmp((*link)->path, path)) continue;
    *link = (*link)->next;
    break;
  }
  pthread_mutex_unlock(&lock);
}

void statementfaults_arm(const char *path, int64_t nth) {
  Place *place = place_of(path);
  if (!place) return;
  place->refused[0] = 0;
  __atomic_store_n(&place->count, 0, __ATOMIC_SEQ_CST);
  __atomic_store_n(&place->nth, nth, __ATOMIC_SEQ_CST);
}

int64_t statementfaults_count(const char *path) {
  Place *place = place_of(path);
  return place ? __atomic_load_n(&place->count, __ATOMIC_SEQ_CST) : 0;
}

const char *statementfaults_refused(const char *path) {
  Place *place = place_of(path);
  return place ? place->refused : "";
}
