// The floor for a second tier: a prepared GET and its reply, and nothing else.
//
// usage: raw_redis socket|libcurl SOCKET COUNT BYTES
// Sets a value of BYTES bytes at the server on that unix socket, and gets it COUNT times, by a blocking socket or by a
// connection of libcurl's that is polled. Prints the time of each GET in nanoseconds, one a line.
#define _GNU_SOURCE
#include <curl/curl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int server = -1;
static CURL *easy;
static CURLM *multi;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void wait_for(short events) {
  struct curl_waitfd wanted = {.fd = server, .events = events};
  if (curl_multi_poll(multi, &wanted, 1, 10000, NULL) != CURLM_OK) fail("poll");
}

static void send_all(const char *bytes, size_t count) {
  while (count > 0) {
    size_t sent = 0;
    if (easy) {
      CURLcode code = curl_easy_send(easy, bytes, count, &sent);
      if (code == CURLE_AGAIN) wait_for(CURL_WAIT_POLLOUT);
      else if (code != CURLE_OK) fail("send");
    } else {
      ssize_t wrote = write(server, bytes, count);
      if (wrote <= 0) fail("write");
      sent = (size_t)wrote;
    }
    bytes += sent;
    count -= sent;
  }
}

static void read_all(char *bytes, size_t count) {
  while (count > 0) {
    size_t got = 0;
    if (easy) {
      CURLcode code = curl_easy_recv(easy, bytes, count, &got);
      if (code == CURLE_AGAIN) wait_for(CURL_WAIT_POLLIN);
      else if (code != CURLE_OK || got == 0) fail("receive");
    } else {
      ssize_t some = read(server, bytes, count);
      if (some <= 0) fail("read");
      got = (size_t)some;
    }
    bytes += got;
    count -= got;
  }
}

static void connect_socket(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  server = socket(AF_UNIX, SOCK_STREAM, 0);
  if (server < 0 || connect(server, (struct sockaddr *)&address, sizeof address) != 0) fail(path);
}

static void connect_libcurl(const char *path) {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  multi = curl_multi_init();
  easy = curl_easy_init();
  curl_socket_t descriptor = CURL_SOCKET_BAD;
  curl_easy_setopt(easy, CURLOPT_URL, "http://redis/");
  curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, path);
  curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
  if (curl_easy_perform(easy) != CURLE_OK || curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &descriptor) != CURLE_OK) fail(path);
  server = (int)descriptor;
}

int main(int argc, char **argv) {
  if (argc < 5) { fprintf(stderr, "usage: raw_redis socket|libcurl SOCKET COUNT BYTES\n"); return 64; }
  long count = atol(argv[3]);
  size_t bytes = (size_t)atol(argv[4]);
  if (strcmp(argv[1], "libcurl") == 0) connect_libcurl(argv[2]);
  else connect_socket(argv[2]);
  char head[64], *reply = malloc(bytes + 64);
  // What a whole reply to GET is: its length, the value and the end of the line.
  int first = sprintf(head, "$%zu\r\n", bytes);
  size_t whole = (size_t)first + bytes + 2;
  memset(reply, 'x', bytes);
  char set[128];
  send_all(set, (size_t)sprintf(set, "*3\r\n$3\r\nSET\r\n$9\r\nraw_redis\r\n$%zu\r\n", bytes));
  send_all(reply, bytes);
  send_all("\r\n", 2);
  read_all(reply, 5);
  if (memcmp(reply, "+OK\r\n", 5) != 0) { fprintf(stderr, "SET was refused\n"); return 1; }
  static const char get[] = "*2\r\n$3\r\nGET\r\n$9\r\nraw_redis\r\n";
  uint64_t *times = malloc(sizeof(uint64_t) * (size_t)count);
  for (long i = 0; i < count; i++) {
    uint64_t start = now_ns();
    send_all(get, sizeof get - 1);
    read_all(reply, whole);
    times[i] = now_ns() - start;
    if (memcmp(reply, head, (size_t)first) != 0 || reply[first + bytes / 2] != 'x') { fprintf(stderr, "not the value\n"); return 1; }
  }
  for (long i = 0; i < count; i++) printf("%lu\n", times[i]);
  return 0;
}
