/* Memory: which addresses are the host's, and what both sides see.
 *
 * Device memory lies in the server, at addresses above 2^47, which no host pointer has. Managed and page-locked memory
 * is mapped here at the address that it has there (below 2^47), registered memory stays where it is and has an address
 * there. Host memory is what counts for them: launches carry it there and back, since nothing runs between launches.
 */
#include <sys/mman.h>

#define DEVICE_FIRST (UINT64_C(1) << 47)

enum kind { MANAGED = 1, PAGE_LOCKED, REGISTERED };

struct shared_range {
  struct shared_range *next;
  uint64_t device, size;
  char *host, *known; /* known: what the device holds, once a launch has carried it there */
  enum kind kind;
};

static struct shared_range *ranges;
static pthread_mutex_t ranges_busy = PTHREAD_MUTEX_INITIALIZER;

static int add_range(uint64_t device, char *host, uint64_t size, enum kind kind) {
  struct shared_range *range = malloc(sizeof *range);
  if (!range) return OUT_OF_MEMORY;
  pthread_mutex_lock(&ranges_busy);
  *range = (struct shared_range){ranges, device, size, host, NULL, kind};
  ranges = range;
  pthread_mutex_unlock(&ranges_busy);
  return 0;
}

/* The range that holds an address of either side. */
static struct shared_range *range_of(uint64_t address) {
  for (struct shared_range *range = ranges; range; range = range->next)
    if (address - range->device < range->size || address - (uint64_t)range->host < range->size) return range;
  return NULL;
}

/* Where bytes lie in this process, or null for device memory. */
static char *host_of(uint64_t address) {
  if (address < DEVICE_FIRST) return (char *)address;
  struct shared_range *range = range_of(address);
  return range ? range->host + (address - range->device) : NULL;
}

static int allocate_mapped(uint64_t *address, uint64_t size, enum kind kind) {
  int status = sim_allocate(address, size, 1);
  if (status) return status;
  uint64_t wanted = size ? size : 1;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  char *host = mmap((void *)*address, wanted, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (host != (char *)*address) {
    if (host != MAP_FAILED) munmap(host, wanted);
    sim_release(*address);
    return OUT_OF_MEMORY;
  }
  memset(host, 0xFF, size); /* as fresh device memory */
  return add_range(*address, host, wanted, kind);
}

/* Frees a mapped allocation or forgets a registration. */
static int drop_range(uint64_t address) {
  pthread_mutex_lock(&ranges_busy);
  struct shared_range **at = &ranges;
  while (*at && (*at)->device != address && (uint64_t)(*at)->host != address) at = &(*at)->next;
  struct shared_range *range = *at;
  if (range) *at = range->next;
  pthread_mutex_unlock(&ranges_busy);
  if (!range) return INVALID_VALUE;
  int status = sim_release(range->device);
  if (range->kind != REGISTERED) munmap(range->host, range->size);
  free(range->known);
  free(range);
  return status;
}

static int release(uint64_t address) {
  if (!address) return 0;
  return range_of(address) ? drop_range(address) : sim_release(address);
}

static int copy(uint64_t to, uint64_t source, uint64_t size) {
  if (!size) return sim_copy(0, 0, 0);
  char *host_to = host_of(to), *host_source = host_of(source);
  if (host_to && host_source) return memmove(host_to, host_source, size), sim_copy(0, 0, 0);
  if (host_to) return sim_read(source, host_to, size);
  if (host_source) return sim_write(to, host_source, size);
  return sim_copy(to, source, size);
}

static int copy_rows(uint64_t to, uint64_t to_pitch, uint64_t source, uint64_t source_pitch, uint64_t width,
                     uint64_t rows) {
  int status = 0;
  if (to_pitch == width && source_pitch == width) return copy(to, source, width * rows);
  for (uint64_t row = 0; row < rows && !status; row++)
    status = copy(to + row * to_pitch, source + row * source_pitch, width);
  return status;
}

static int fill(uint64_t address, uint32_t value, uint32_t width, uint64_t count) {
  char *host = host_of(address);
  if (!host) return sim_fill(address, value, width, count);
  for (uint64_t at = 0; at < count; at++) memcpy(host + at * width, &value, width);
  return sim_copy(0, 0, 0);
}

static int fill_rows(uint64_t address, uint64_t pitch, uint32_t value, uint32_t width, uint64_t count, uint64_t rows) {
  int status = 0;
  for (uint64_t row = 0; row < rows && !status; row++) status = fill(address + row * pitch, value, width, count);
  return status;
}

/* Carries what the program has changed since the last launch to the device. */
static int send_range(struct shared_range *range) {
  if (range->known && !memcmp(range->known, range->host, range->size)) return 0;
  if (!range->known && !(range->known = malloc(range->size))) return OUT_OF_MEMORY;
  memcpy(range->known, range->host, range->size);
  return sim_share(range->device, range->known, range->size);
}

/* Carries a range back that a kernel has changed. */
static int fetch_range(struct shared_range *range) {
  uint32_t changed = 0;
  int status = sim_fetch(range->device, range->size, &changed, range->known);
  if (changed && !status) memcpy(range->host, range->known, range->size);
  return status;
}

static int exchange_ranges(int to_device) {
  int status = 0;
  for (struct shared_range *range = ranges; range && !status; range = range->next)
    status = to_device ? send_range(range) : fetch_range(range);
  return status;
}

static int register_host(uint64_t host, uint64_t size) {
  uint64_t device;
  int status = sim_allocate(&device, size, 0);
  return status ? status : add_range(device, (char *)host, size, REGISTERED);
}

static int device_address(uint64_t *device, uint64_t host) {
  struct shared_range *range = range_of(host);
  if (!range) return NOT_REGISTERED;
  *device = range->device + (host < DEVICE_FIRST ? host - (uint64_t)range->host : host - range->device);
  return 0;
}

static uint64_t pitch_of(uint64_t width) { return (width + 511) / 512 * 512; } /* rows of 512 bytes, as drivers do */

EXPORT int cuMemAlloc_v2(uint64_t *address, uint64_t size) {
  return address && size ? sim_allocate(address, size, 0) : INVALID_VALUE;
}
EXPORT int cuMemAllocAsync(uint64_t *address, uint64_t size, uint64_t stream UNUSED) {
  return cuMemAlloc_v2(address, size);
}
EXPORT int cuMemAllocFromPoolAsync(uint64_t *address, uint64_t size, uint64_t pool UNUSED, uint64_t stream UNUSED) {
  return cuMemAlloc_v2(address, size);
}
/* The first three attributes say whether freed memory is used again, the others count bytes. */
EXPORT int cuMemPoolGetAttribute(uint64_t pool UNUSED, int attribute, void *value) {
  if (attribute <= 3) *(int32_t *)value = 1;
  else *(uint64_t *)value = 0;
  return 0;
}
EXPORT int cuMemAllocPitch_v2(uint64_t *address, uint64_t *pitch, uint64_t width, uint64_t rows,
                              uint32_t element UNUSED) {
  *pitch = pitch_of(width);
  return cuMemAlloc_v2(address, *pitch * rows);
}
EXPORT int cuMemFree_v2(uint64_t address) { return release(address); }
EXPORT int cuMemFreeAsync(uint64_t address, uint64_t stream UNUSED) { return release(address); }
EXPORT int cuMemAllocManaged(uint64_t *address, uint64_t size, uint32_t flags UNUSED) {
  return allocate_mapped(address, size, MANAGED);
}
EXPORT int cuMemHostAlloc(void **host, uint64_t size, uint32_t flags UNUSED) {
  return allocate_mapped((uint64_t *)host, size, PAGE_LOCKED);
}
EXPORT int cuMemAllocHost_v2(void **host, uint64_t size) { return allocate_mapped((uint64_t *)host, size, PAGE_LOCKED); }
EXPORT int cuMemFreeHost(uint64_t host) { return release(host); }
EXPORT int cuMemHostRegister_v2(uint64_t host, uint64_t size, uint32_t flags UNUSED) { return register_host(host, size); }
EXPORT int cuMemHostUnregister(uint64_t host) { return range_of(host) ? drop_range(host) : NOT_REGISTERED; }
EXPORT int cuMemHostGetDevicePointer_v2(uint64_t *device, uint64_t host, uint32_t flags UNUSED) {
  return device_address(device, host);
}
EXPORT int cuMemHostGetFlags(uint32_t *flags, uint64_t host) {
  *flags = 0;
  return range_of(host) ? 0 : INVALID_VALUE;
}
EXPORT int cuMemcpyHtoD_v2(uint64_t to, uint64_t source, uint64_t size) { return copy(to, source, size); }
EXPORT int cuMemcpyAsync(uint64_t to, uint64_t source, uint64_t size, uint64_t stream UNUSED) {
  return copy(to, source, size);
}
EXPORT int cuMemcpyPeer(uint64_t to, uint64_t context UNUSED, uint64_t source, uint64_t other UNUSED, uint64_t size) {
  return copy(to, source, size);
}
EXPORT int cuMemsetD8_v2(uint64_t address, uint32_t value, uint64_t count) { return fill(address, value, 1, count); }
EXPORT int cuMemsetD16_v2(uint64_t address, uint32_t value, uint64_t count) { return fill(address, value, 2, count); }
EXPORT int cuMemsetD32_v2(uint64_t address, uint32_t value, uint64_t count) { return fill(address, value, 4, count); }
EXPORT int cuMemsetD8Async(uint64_t address, uint32_t value, uint64_t count, uint64_t stream UNUSED) {
  return fill(address, value, 1, count);
}
EXPORT int cuMemsetD16Async(uint64_t address, uint32_t value, uint64_t count, uint64_t stream UNUSED) {
  return fill(address, value, 2, count);
}
EXPORT int cuMemsetD32Async(uint64_t address, uint32_t value, uint64_t count, uint64_t stream UNUSED) {
  return fill(address, value, 4, count);
}
EXPORT int cuMemsetD2D8_v2(uint64_t address, uint64_t pitch, uint32_t value, uint64_t width, uint64_t rows) {
  return fill_rows(address, pitch, value, 1, width, rows);
}
EXPORT int cuMemsetD2D32_v2(uint64_t address, uint64_t pitch, uint32_t value, uint64_t width, uint64_t rows) {
  return fill_rows(address, pitch, value, 4, width, rows);
}
EXPORT int cuMemGetAddressRange_v2(uint64_t *base, uint64_t *size, uint64_t address) {
  return sim_range(address, base, size);
}

struct memcpy_2d { /* CUDA_MEMCPY2D_v2 of cuda.h */
  uint64_t source_x, source_y;
  uint32_t source_type;
  uint64_t source_host, source_device, source_array, source_pitch;
  uint64_t to_x, to_y;
  uint32_t to_type;
  uint64_t to_host, to_device, to_array, to_pitch;
  uint64_t width, rows;
};
enum { TYPE_HOST = 1, TYPE_DEVICE, TYPE_ARRAY, TYPE_UNIFIED };

EXPORT int cuMemcpy2D_v2(const struct memcpy_2d *given) {
  if (given->source_type == TYPE_ARRAY || given->to_type == TYPE_ARRAY) return sim_refuse("cuMemcpy2D of a CUDA array");
  uint64_t source = given->source_type == TYPE_HOST ? given->source_host : given->source_device;
  uint64_t to = given->to_type == TYPE_HOST ? given->to_host : given->to_device;
  return copy_rows(to + given->to_y * given->to_pitch + given->to_x, given->to_pitch,
                   source + given->source_y * given->source_pitch + given->source_x, given->source_pitch, given->width,
                   given->rows);
}
EXPORT int cuMemcpy2DAsync_v2(const struct memcpy_2d *given, uint64_t stream UNUSED) { return cuMemcpy2D_v2(given); }

/* One attribute of a pointer, by its number in CUpointer_attribute of cuda.h. */
EXPORT int cuPointerGetAttribute(void *data, int attribute, uint64_t address) {
  struct shared_range *range = range_of(address);
  uint64_t base = 0, size = 0, device = address;
  if (range) device_address(&device, address);
  if (!range && address < DEVICE_FIRST) return INVALID_VALUE;
  int status = sim_range(device, &base, &size);
  if (status) return status;
  switch (attribute) {
  case 1: *(uint64_t *)data = 1; return 0;                                               /* the context */
  case 2: *(uint32_t *)data = range && range->kind != MANAGED ? TYPE_HOST : TYPE_DEVICE; return 0;
  case 3: *(uint64_t *)data = device; return 0;
  case 4: *(char **)data = host_of(address); return *(char **)data ? 0 : INVALID_VALUE;
  case 6: return 0;
  case 7: *(uint64_t *)data = base; return 0;
  case 8: *(uint8_t *)data = range && range->kind == MANAGED; return 0;
  case 9: *(int32_t *)data = 0; return 0;
  case 11: *(uint64_t *)data = base; return 0;
  case 12: *(uint64_t *)data = size; return 0;
  case 13: *(uint8_t *)data = 1; return 0;
  case 10: case 15: *(uint8_t *)data = 0; return 0;
  case 14: *(uint64_t *)data = 0; return 0;
  case 16: *(uint32_t *)data = 3; return 0; /* read and written */
  case 17: *(uint64_t *)data = 0; return 0;
  default: return NOT_SUPPORTED;
  }
}
EXPORT int cuPointerGetAttributes(uint32_t count, const int *attributes, void **data, uint64_t address) {
  for (uint32_t at = 0; at < count; at++) {
    uint64_t nothing = 0;
    if (cuPointerGetAttribute(data[at], attributes[at], address) && attributes[at] != 8)
      memcpy(data[at], &nothing, attributes[at] == 2 || attributes[at] == 9 ? 4 : 8);
  }
  return 0;
}
EXPORT int cuPointerSetAttribute(const void *value UNUSED, int attribute UNUSED, uint64_t address UNUSED) { return 0; }
