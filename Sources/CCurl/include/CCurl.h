// libcurl, loaded when it is first needed.
//
// Linking it would cost every start of the command about 8 ms before `main`; so it is opened with dlopen, and its
// functions are reached through a table. Swift cannot call C functions with variable arguments, so setopt and getinfo
// have one wrapper for each type of argument.
#pragma once

#if defined(__linux__)

#include <curl/curl.h>
#include <stddef.h>

/// The functions of one loaded libcurl. Never freed: code of a library that has made threads cannot be unloaded.
typedef struct ccurl_library ccurl_library;

/// The callbacks of a transfer, all called on the thread that performs the transfer.
typedef struct ccurl_callbacks {
  /// One line of a head, with its line end; returns `size * count`, or less to fail the transfer.
  size_t (*header)(char *bytes, size_t size, size_t count, void *context);
  /// A piece of the body; returns `size * count`, or less to fail the transfer.
  size_t (*write)(char *bytes, size_t size, size_t count, void *context);
  /// Fills `room` with the next piece of the request's body; returns its length, 0 at the end of the body.
  size_t (*read)(char *room, size_t size, size_t count, void *context);
  /// Seeks in the request's body; returns a CURL_SEEKFUNC value.
  int (*seek)(void *context, curl_off_t offset, int origin);
  /// The connection is ready and the request is about to be sent; returns a CURL_PREREQFUNC value.
  int (*ready)(void *context, char *peer, char *own, int peer_port, int own_port);
  /// Where `CURLOPT_NOPROGRESS` is 0: the transfer has gone on, or has ended, and its connection is not yet closed.
  int (*progress)(void *context, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
} ccurl_callbacks;

/// Loads a library by its file name and initialises it; on failure returns NULL, with the reason in `problem`. Two
/// threads must not call it at once.
const ccurl_library *ccurl_open(const char *name, char *problem, size_t problem_size);

/// Frees the table of a library that is not used. The library itself stays loaded.
void ccurl_close(const ccurl_library *library);

/// The library's version as 0xXXYYZZ, and as text.
unsigned ccurl_version_number(const ccurl_library *library);
const char *ccurl_version_text(const ccurl_library *library);
/// The library that speaks TLS for it, "OpenSSL/3.0.15"; NULL if there is none.
const char *ccurl_tls_text(const ccurl_library *library);
/// Where it looks for certificate authorities unless it is told otherwise; NULL for no such place.
void ccurl_authorities(const ccurl_library *library, const char **file, const char **folder);
/// The libraries it uses and their features, separated by commas: "OpenSSL/3.0.15, HTTP/2, gzip, brotli".
void ccurl_version_details(const ccurl_library *library, char *text, size_t size);

CURL *ccurl_easy_init(const ccurl_library *library);
void ccurl_easy_cleanup(const ccurl_library *library, CURL *easy);
void ccurl_easy_reset(const ccurl_library *library, CURL *easy);
CURLcode ccurl_easy_pause(const ccurl_library *library, CURL *easy, int mask);
const char *ccurl_easy_strerror(const ccurl_library *library, CURLcode code);
CURLcode ccurl_set_callbacks(const ccurl_library *library, CURL *easy, ccurl_callbacks callbacks, void *context);
CURLcode ccurl_set_long(const ccurl_library *library, CURL *easy, CURLoption option, long value);
CURLcode ccurl_set_offset(const ccurl_library *library, CURL *easy, CURLoption option, curl_off_t value);
CURLcode ccurl_set_string(const ccurl_library *library, CURL *easy, CURLoption option, const char *value);
CURLcode ccurl_set_list(const ccurl_library *library, CURL *easy, CURLoption option, struct curl_slist *value);
CURLcode ccurl_set_buffer(const ccurl_library *library, CURL *easy, CURLoption option, char *value);
/// The value of a CURLINFO of type long; 0 if there is none.
long ccurl_get_long(const ccurl_library *library, CURL *easy, CURLINFO info);
/// How many bytes of the body came, before any decoding.
curl_off_t ccurl_received(const ccurl_library *library, CURL *easy);
/// The folder of certificate authorities that it was built with; NULL if there is none, and before 7.84.
const char *ccurl_authority_folder(const ccurl_library *library, CURL *easy);
/// Whether the transfer went, or was to go, by way of a proxy: 1 or 0; -1 before 8.7, which does not say.
int ccurl_used_proxy(const ccurl_library *library, CURL *easy);
/// Sends bytes through the connection of a handle with `CURLOPT_CONNECT_ONLY`; `sent` is how many it took.
CURLcode ccurl_easy_send(const ccurl_library *library, CURL *easy, const void *bytes, size_t count, size_t *sent);
/// Receives at most `count` bytes from such a connection; `received` is 0 where the peer has closed it.
CURLcode ccurl_easy_recv(const ccurl_library *library, CURL *easy, void *room, size_t count, size_t *received);
/// Whether the closing alert of TLS has come on the connection of a running transfer: 1 or 0; -1 where that is unknown,
/// without OpenSSL.
int ccurl_tls_end(const ccurl_library *library, CURL *easy);
/// The descriptor of such a connection, or of the one that an ended transfer has left open; -1 if it is closed.
int ccurl_active_socket(const ccurl_library *library, CURL *easy);
/// The context given with the callbacks.
void *ccurl_get_context(const ccurl_library *library, CURL *easy);

struct curl_slist *ccurl_list_append(const ccurl_library *library, struct curl_slist *list, const char *text);
void ccurl_list_free(const ccurl_library *library, struct curl_slist *list);

CURLM *ccurl_multi_init(const ccurl_library *library);
CURLMcode ccurl_multi_cleanup(const ccurl_library *library, CURLM *multi);
CURLMcode ccurl_multi_set_long(const ccurl_library *library, CURLM *multi, CURLMoption option, long value);
CURLMcode ccurl_multi_add(const ccurl_library *library, CURLM *multi, CURL *easy);
CURLMcode ccurl_multi_remove(const ccurl_library *library, CURLM *multi, CURL *easy);
CURLMcode ccurl_multi_perform(const ccurl_library *library, CURLM *multi);
/// Waits until a transfer can go on, one of the descriptors is ready or the time has passed. Each has the events that are
/// awaited (`CURL_WAIT_POLLIN`, `CURL_WAIT_POLLOUT`) and is given those that have come.
CURLMcode ccurl_multi_wait(const ccurl_library *library, CURLM *multi, struct curl_waitfd *descriptors, unsigned count,
                           int milliseconds);
/// Waits for the descriptors alone, as long as libcurl is not loaded.
void ccurl_wait(struct curl_waitfd *descriptors, unsigned count, int milliseconds);
/// Puts the descriptors that the transfers of `multi` wait for into `room`; returns how many, at most `count`. None while
/// libcurl waits for something without a descriptor, or for one that an `fd_set` cannot hold.
unsigned ccurl_multi_descriptors(const ccurl_library *library, CURLM *multi, struct curl_waitfd *room, unsigned count);
/// The next transfer that has ended, with its result; NULL if there is none.
CURL *ccurl_multi_ended(const ccurl_library *library, CURLM *multi, CURLcode *result);
const char *ccurl_multi_strerror(const ccurl_library *library, CURLMcode code);

/// Gives the calling thread a name of at most 15 bytes, for debuggers and `ps -L`.
void ccurl_name_thread(const char *name);

/// An exit of the process waits for the threads that call libcurl, before it runs the exit handlers registered so far.
void ccurl_stand_still_at_exit(void);
/// The calling thread may call libcurl from now on: an exit of the process waits until the thread rests, for one second
/// at most. If the process is already exiting, the call never returns.
void ccurl_thread_resume(void);
/// Until it resumes, the calling thread calls no function of libcurl except to wait.
void ccurl_thread_rest(void);
/// Never returns if the process is exiting. A thread that does not rest calls it from time to time.
void ccurl_thread_check(void);

#endif
