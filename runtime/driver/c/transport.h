/* One call: what is sent, then what came back, in one growing buffer. All integers little-endian. */
#ifndef TILESAT_TRANSPORT_H
#define TILESAT_TRANSPORT_H
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define UNUSED __attribute__((unused))

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_FUNCTION = 98, INVALID_HANDLE = 400,
       NOT_FOUND = 500, NOT_REGISTERED = 713, NOT_SUPPORTED = 801 };

struct call {
  unsigned char *data;
  size_t size, room, at;
};

static void begin(struct call *call, uint32_t function);
static void put(struct call *call, const void *data, size_t size);
static void put_bytes(struct call *call, const void *data, uint64_t size); /* its size first */
static int exchange(struct call *call);                                    /* the status of the call */
static void take(struct call *call, void *to, size_t size);                /* to may be null */
static void take_bytes(struct call *call, void *to, uint64_t room);
static int finish(struct call *call, int status); /* frees the buffer, returns the status */

static _Thread_local int last_error;

/* What a function of the runtime returns is kept for cudaGetLastError. */
static inline int note(int status) {
  if (status) last_error = status;
  return status;
}
#endif
