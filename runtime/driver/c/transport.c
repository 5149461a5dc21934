/* The socket to the server, whose name is in TILESAT_DRIVER (an abstract Unix socket). One call at a time. */
#include "transport.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static int connection = -1;
static pid_t owner; /* a forked child makes a connection of its own, with a device of its own */

static int connect_server(void) {
  if (connection >= 0 && owner == getpid()) return 1;
  const char *name = getenv("TILESAT_DRIVER");
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (!name || strlen(name) > sizeof address.sun_path - 2) return 0;
  memcpy(address.sun_path + 1, name, strlen(name));
  connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
  if (connection < 0 || connect(connection, (struct sockaddr *)&address, length)) {
    fprintf(stderr, "tilesat: cannot reach the server at @%s: %s\n", name, strerror(errno));
    if (connection >= 0) close(connection);
    connection = -1;
    return 0;
  }
  owner = getpid();
  return 1;
}

static int move(int receive, void *data, size_t size) {
  for (size_t done = 0; done < size;) {
    char *at = (char *)data + done;
    ssize_t moved = receive ? recv(connection, at, size - done, 0) : send(connection, at, size - done, MSG_NOSIGNAL);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return 0;
    done += (size_t)moved;
  }
  return 1;
}

static void reserve(struct call *call, size_t size) {
  if (size <= call->room) return;
  call->room = size > 2 * call->room ? size : 2 * call->room;
  call->data = realloc(call->data, call->room);
  if (!call->data) abort();
}

static void put(struct call *call, const void *data, size_t size) {
  reserve(call, call->size + size);
  if (size) memcpy(call->data + call->size, data, size);
  call->size += size;
}

static void put_bytes(struct call *call, const void *data, uint64_t size) {
  if (!data) size = 0;
  put(call, &size, sizeof size);
  put(call, data, size);
}

#define HEADER 12 /* function or status (4 bytes), then the bytes that follow (8) */

static void begin(struct call *call, uint32_t function) {
  *call = (struct call){0};
  reserve(call, 256);
  call->size = HEADER;
  memcpy(call->data, &function, sizeof function);
}

static int exchange(struct call *call) {
  uint64_t size = call->size - HEADER;
  int status = NO_DEVICE;
  memcpy(call->data + 4, &size, sizeof size);
  pthread_mutex_lock(&busy);
  if (connect_server()) {
    unsigned char header[HEADER];
    if (move(0, call->data, call->size) && move(1, header, HEADER)) {
      memcpy(&size, header + 4, sizeof size);
      reserve(call, size);
      call->size = size;
      call->at = 0;
      if (move(1, call->data, size)) memcpy(&status, header, sizeof status);
    }
    if (status == NO_DEVICE) {
      close(connection);
      connection = -1;
    }
  }
  pthread_mutex_unlock(&busy);
  return status;
}

static void take(struct call *call, void *to, size_t size) {
  if (call->at + size > call->size) return;
  if (to) memcpy(to, call->data + call->at, size);
  call->at += size;
}

static void take_bytes(struct call *call, void *to, uint64_t room) {
  uint64_t size = 0;
  take(call, &size, sizeof size);
  if (call->at + size > call->size) return;
  if (to && room) memcpy(to, call->data + call->at, size < room ? size : room);
  call->at += size;
}

static int finish(struct call *call, int status) {
  free(call->data);
  return status;
}
