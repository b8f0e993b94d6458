#if defined(__linux__)

#define _GNU_SOURCE
#include "CCurl.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>

struct ccurl_library {
  CURL *(*easy_init)(void);
  void (*easy_cleanup)(CURL *);
  void (*easy_reset)(CURL *);
  CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
  CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
  CURLcode (*easy_pause)(CURL *, int);
  CURLcode (*easy_send)(CURL *, const void *, size_t, size_t *);
  CURLcode (*easy_recv)(CURL *, void *, size_t, size_t *);
  const char *(*easy_strerror)(CURLcode);
  CURLcode (*global_init)(long);
  curl_version_info_data *(*version_info)(CURLversion);
  struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
  void (*slist_free_all)(struct curl_slist *);
  CURLM *(*multi_init)(void);
  CURLMcode (*multi_cleanup)(CURLM *);
  CURLMcode (*multi_setopt)(CURLM *, CURLMoption, ...);
  CURLMcode (*multi_add_handle)(CURLM *, CURL *);
  CURLMcode (*multi_remove_handle)(CURLM *, CURL *);
  CURLMcode (*multi_perform)(CURLM *, int *);
  CURLMcode (*multi_fdset)(CURLM *, fd_set *, fd_set *, fd_set *, int *);
  CURLMcode (*multi_poll)(CURLM *, struct curl_waitfd *, unsigned, int, int *);
  CURLMsg *(*multi_info_read)(CURLM *, int *);
  const char *(*multi_strerror)(CURLMcode);
  /// OpenSSL's function, found through libcurl's own dependencies; NULL where OpenSSL is not among them.
  int (*ssl_get_shutdown)(const void *);
};

struct symbol {
  const char *name;
  size_t offset;
};

#define SYMBOL(field) {"curl_" #field, offsetof(struct ccurl_library, field)}

static const struct symbol symbols[] = {
    SYMBOL(easy_init),      SYMBOL(easy_cleanup),    SYMBOL(easy_reset),          SYMBOL(easy_setopt),
    SYMBOL(easy_getinfo),   SYMBOL(easy_pause),      SYMBOL(easy_strerror),       SYMBOL(global_init),
    SYMBOL(version_info),   SYMBOL(slist_append),    SYMBOL(slist_free_all),      SYMBOL(multi_init),
    SYMBOL(multi_cleanup),  SYMBOL(multi_setopt),    SYMBOL(multi_add_handle),    SYMBOL(multi_remove_handle),
    SYMBOL(multi_perform),  SYMBOL(multi_poll),      SYMBOL(multi_info_read),     SYMBOL(multi_strerror),
    SYMBOL(easy_send),      SYMBOL(easy_recv),       SYMBOL(multi_fdset),
};

const ccurl_library *ccurl_open(const char *name, char *problem, size_t problem_size) {
  // Lazily: the thirty libraries below it call a small part of each other, and finding the rest costs 2.6 of the 17.5
  // million instructions of loading and initialising them. curl starts alike.
  void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (!handle) {
    const char *text = dlerror();
    snprintf(problem, problem_size, "%s", text ? text : "dlopen failed");
    return NULL;
  }
  struct ccurl_library *library = calloc(1, sizeof *library);
  if (!library) {
    snprintf(problem, problem_size, "out of memory");
    return NULL;
  }
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *address = dlsym(handle, symbols[i].name);
    if (!address) {
      snprintf(problem, problem_size, "%s has no %s: it is too old", name, symbols[i].name);
      free(library);
      return NULL;
    }
    // The form POSIX recommends for storing a function's address that dlsym returned.
    *(void **)((char *)library + symbols[i].offset) = address;
  }
  *(void **)&library->ssl_get_shutdown = dlsym(handle, "SSL_get_shutdown");
  CURLcode code = library->global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK) {
    snprintf(problem, problem_size, "%s", library->easy_strerror(code));
    free(library);
    return NULL;
  }
  ccurl_stand_still_at_exit();
  return library;
}

void ccurl_close(const ccurl_library *library) { free((void *)library); }

unsigned ccurl_version_number(const ccurl_library *library) {
  return library->version_info(CURLVERSION_NOW)->version_num;
}

const char *ccurl_version_text(const ccurl_library *library) {
  return library->version_info(CURLVERSION_NOW)->version;
}

const char *ccurl_tls_text(const ccurl_library *library) {
  return library->version_info(CURLVERSION_NOW)->ssl_version;
}

void ccurl_authorities(const ccurl_library *library, const char **file, const char **folder) {
  curl_version_info_data *info = library->version_info(CURLVERSION_NOW);
  *file = info->cainfo;
  *folder = info->capath;
}

void ccurl_version_details(const ccurl_library *library, char *text, size_t size) {
  curl_version_info_data *info = library->version_info(CURLVERSION_NOW);
  snprintf(text, size, "%s%s%s%s%s", info->ssl_version ? info->ssl_version : "no TLS",
           info->features & CURL_VERSION_HTTP2 ? ", HTTP/2" : "", info->features & CURL_VERSION_LIBZ ? ", gzip" : "",
           info->features & CURL_VERSION_BROTLI ? ", brotli" : "", info->features & CURL_VERSION_ZSTD ? ", zstd" : "");
}

CURL *ccurl_easy_init(const ccurl_library *library) { return library->easy_init(); }

void ccurl_easy_cleanup(const ccurl_library *library, CURL *easy) { library->easy_cleanup(easy); }

void ccurl_easy_reset(const ccurl_library *library, CURL *easy) { library->easy_reset(easy); }

CURLcode ccurl_easy_pause(const ccurl_library *library, CURL *easy, int mask) {
  return library->easy_pause(easy, mask);
}

const char *ccurl_easy_strerror(const ccurl_library *library, CURLcode code) { return library->easy_strerror(code); }

CURLcode ccurl_set_callbacks(const ccurl_library *library, CURL *easy, ccurl_callbacks callbacks, void *context) {
  CURLcode code = library->easy_setopt(easy, CURLOPT_HEADERFUNCTION, callbacks.header);
  if (!code) code = library->easy_setopt(easy, CURLOPT_HEADERDATA, context);
  if (!code) code = library->easy_setopt(easy, CURLOPT_WRITEFUNCTION, callbacks.write);
  if (!code) code = library->easy_setopt(easy, CURLOPT_WRITEDATA, context);
  if (!code) code = library->easy_setopt(easy, CURLOPT_READFUNCTION, callbacks.read);
  if (!code) code = library->easy_setopt(easy, CURLOPT_READDATA, context);
  if (!code) code = library->easy_setopt(easy, CURLOPT_SEEKFUNCTION, callbacks.seek);
  if (!code) code = library->easy_setopt(easy, CURLOPT_SEEKDATA, context);
  if (!code) code = library->easy_setopt(easy, CURLOPT_PREREQFUNCTION, callbacks.ready);
  if (!code) code = library->easy_setopt(easy, CURLOPT_PREREQDATA, context);
  if (!code) code = library->easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, callbacks.progress);
  if (!code) code = library->easy_setopt(easy, CURLOPT_XFERINFODATA, context);
  if (!code) code = library->easy_setopt(easy, CURLOPT_PRIVATE, context);
  return code;
}

CURLcode ccurl_set_long(const ccurl_library *library, CURL *easy, CURLoption option, long value) {
  return library->easy_setopt(easy, option, value);
}

CURLcode ccurl_set_offset(const ccurl_library *library, CURL *easy, CURLoption option, curl_off_t value) {
  return library->easy_setopt(easy, option, value);
}

CURLcode ccurl_set_string(const ccurl_library *library, CURL *easy, CURLoption option, const char *value) {
  return library->easy_setopt(easy, option, value);
}

CURLcode ccurl_set_list(const ccurl_library *library, CURL *easy, CURLoption option, struct curl_slist *value) {
  return library->easy_setopt(easy, option, value);
}

CURLcode ccurl_set_buffer(const ccurl_library *library, CURL *easy, CURLoption option, char *value) {
  return library->easy_setopt(easy, option, value);
}

long ccurl_get_long(const ccurl_library *library, CURL *easy, CURLINFO info) {
  long value = 0;
  return library->easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

curl_off_t ccurl_received(const ccurl_library *library, CURL *easy) {
  curl_off_t value = 0;
  return library->easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &value) == CURLE_OK ? value : 0;
}

const char *ccurl_authority_folder(const ccurl_library *library, CURL *easy) {
  // CURLINFO_CAPATH, which the headers have from 7.84 on.
  CURLINFO info = (CURLINFO)(CURLINFO_STRING + 62);
  char *value = NULL;
  return library->easy_getinfo(easy, info, &value) == CURLE_OK ? value : NULL;
}

int ccurl_used_proxy(const ccurl_library *library, CURL *easy) {
  // CURLINFO_USED_PROXY, which the headers have from 8.7 on.
  CURLINFO info = (CURLINFO)(CURLINFO_LONG + 66);
  long value = 0;
  return library->easy_getinfo(easy, info, &value) == CURLE_OK ? value != 0 : -1;
}

int ccurl_tls_end(const ccurl_library *library, CURL *easy) {
  const struct curl_tlssessioninfo *session = NULL;
  if (!library->ssl_get_shutdown || library->easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK ||
      !session || session->backend != CURLSSLBACKEND_OPENSSL || !session->internals) {
    return -1;
  }
  // SSL_RECEIVED_SHUTDOWN
  return (library->ssl_get_shutdown(session->internals) & 2) != 0;
}

CURLcode ccurl_easy_send(const ccurl_library *library, CURL *easy, const void *bytes, size_t count, size_t *sent) {
  *sent = 0;
  return library->easy_send(easy, bytes, count, sent);
}

CURLcode ccurl_easy_recv(const ccurl_library *library, CURL *easy, void *room, size_t count, size_t *received) {
  *received = 0;
  return library->easy_recv(easy, room, count, received);
}

int ccurl_active_socket(const ccurl_library *library, CURL *easy) {
  curl_socket_t descriptor = CURL_SOCKET_BAD;
  return library->easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &descriptor) == CURLE_OK ? descriptor : -1;
}

void *ccurl_get_context(const ccurl_library *library, CURL *easy) {
  char *value = NULL;
  return library->easy_getinfo(easy, CURLINFO_PRIVATE, &value) == CURLE_OK ? value : NULL;
}

struct curl_slist *ccurl_list_append(const ccurl_library *library, struct curl_slist *list, const char *text) {
  return library->slist_append(list, text);
}

void ccurl_list_free(const ccurl_library *library, struct curl_slist *list) { library->slist_free_all(list); }

CURLM *ccurl_multi_init(const ccurl_library *library) { return library->multi_init(); }

CURLMcode ccurl_multi_cleanup(const ccurl_library *library, CURLM *multi) { return library->multi_cleanup(multi); }

CURLMcode ccurl_multi_set_long(const ccurl_library *library, CURLM *multi, CURLMoption option, long value) {
  return library->multi_setopt(multi, option, value);
}

CURLMcode ccurl_multi_add(const ccurl_library *library, CURLM *multi, CURL *easy) {
  return library->multi_add_handle(multi, easy);
}

CURLMcode ccurl_multi_remove(const ccurl_library *library, CURLM *multi, CURL *easy) {
  return library->multi_remove_handle(multi, easy);
}

CURLMcode ccurl_multi_perform(const ccurl_library *library, CURLM *multi) {
  int running = 0;
  return library->multi_perform(multi, &running);
}

CURLMcode ccurl_multi_wait(const ccurl_library *library, CURLM *multi, struct curl_waitfd *descriptors, unsigned count,
                           int milliseconds) {
  int ready = 0;
  return library->multi_poll(multi, descriptors, count, milliseconds, &ready);
}

_Static_assert(sizeof(struct curl_waitfd) == sizeof(struct pollfd) &&
                   offsetof(struct curl_waitfd, events) == offsetof(struct pollfd, events) &&
                   offsetof(struct curl_waitfd, revents) == offsetof(struct pollfd, revents) &&
                   CURL_WAIT_POLLIN == POLLIN && CURL_WAIT_POLLOUT == POLLOUT,
               "libcurl's descriptors are those of poll");

void ccurl_wait(struct curl_waitfd *descriptors, unsigned count, int milliseconds) {
  poll((struct pollfd *)descriptors, count, milliseconds);
}

unsigned ccurl_multi_descriptors(const ccurl_library *library, CURLM *multi, struct curl_waitfd *room, unsigned count) {
  fd_set readable, writable, exceptional;
  FD_ZERO(&readable);
  FD_ZERO(&writable);
  FD_ZERO(&exceptional);
  int last = -1;
  if (library->multi_fdset(multi, &readable, &writable, &exceptional, &last) != CURLM_OK) return 0;
  unsigned used = 0;
  for (int descriptor = 0; descriptor <= last && used < count; descriptor++) {
    short events = 0;
    if (FD_ISSET(descriptor, &readable)) events |= CURL_WAIT_POLLIN;
    if (FD_ISSET(descriptor, &writable)) events |= CURL_WAIT_POLLOUT;
    if (events) room[used++] = (struct curl_waitfd){.fd = descriptor, .events = events, .revents = 0};
  }
  return used;
}

CURL *ccurl_multi_ended(const ccurl_library *library, CURLM *multi, CURLcode *result) {
  int left = 0;
  const CURLMsg *message = library->multi_info_read(multi, &left);
  // CURLMSG_DONE is the only message there is.
  if (!message || message->msg != CURLMSG_DONE) return NULL;
  *result = message->data.result;
  return message->easy_handle;
}

const char *ccurl_multi_strerror(const ccurl_library *library, CURLMcode code) {
  return library->multi_strerror(code);
}

void ccurl_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

#else

// Elsewhere the transport is URLSession.
typedef int ccurl_nothing_here;

#endif
