/* Modules, launches and look-ups of the driver API, as far as they read memory of the program. */
#include <dlfcn.h>

#define WRAPPER_MAGIC 0x466243b1u /* fatBinaryCtl.h: __fatBinC_Wrapper_t */
#define FATBIN_MAGIC 0xba55ed50u  /* fatbinary.h: FATBIN_MAGIC */

struct wrapper {
  uint32_t magic, version;
  const void *data;
  void *file;
};

/* Bytes of an image: a fat binary, an ELF file, or PTX text, which ends with a zero. */
static uint64_t image_size(const unsigned char *image) {
  uint32_t magic;
  memcpy(&magic, image, 4);
  if (magic == FATBIN_MAGIC) {
    uint16_t header;
    uint64_t size;
    memcpy(&header, image + 6, sizeof header);
    memcpy(&size, image + 8, sizeof size);
    return header + size;
  }
  if (!memcmp(image, "\177ELF", 4)) { /* System V ABI: e_shoff at 40, e_shentsize at 58, e_shnum at 60 */
    uint64_t offset;
    uint16_t size, count;
    memcpy(&offset, image + 40, sizeof offset);
    memcpy(&size, image + 58, sizeof size);
    memcpy(&count, image + 60, sizeof count);
    return offset + (uint64_t)size * count;
  }
  return strlen((const char *)image);
}

static int load_image(uint64_t *module, const void *image, char *log, uint64_t room) {
  if (!image || !module) return INVALID_VALUE;
  const struct wrapper *wrapped = image;
  const unsigned char *data = wrapped->magic == WRAPPER_MAGIC ? wrapped->data : image;
  return sim_load(module, data, image_size(data), log, room);
}

enum { JIT_ERROR_LOG_BUFFER = 5, JIT_ERROR_LOG_BUFFER_SIZE = 6 };

static int load_with_options(uint64_t *module, const void *image, uint32_t count, const int *options, void **values) {
  char *log = NULL;
  uint64_t room = 0;
  for (uint32_t at = 0; at < count; at++) {
    if (options[at] == JIT_ERROR_LOG_BUFFER) log = values[at];
    if (options[at] == JIT_ERROR_LOG_BUFFER_SIZE) room = (uintptr_t)values[at] & 0xFFFFFFFF;
  }
  if (!log) room = 0;
  if (room) memset(log, 0, room);
  return load_image(module, image, log, room ? room - 1 : 0);
}

EXPORT int cuModuleLoadData(uint64_t *module, const void *image) { return load_image(module, image, NULL, 0); }
EXPORT int cuModuleLoadFatBinary(uint64_t *module, const void *image) { return load_image(module, image, NULL, 0); }
EXPORT int cuModuleLoadDataEx(uint64_t *module, const void *image, uint32_t count, const int *options, void **values) {
  return load_with_options(module, image, count, options, values);
}
EXPORT int cuLibraryLoadData(uint64_t *library, const void *image, const int *options, void **values, uint32_t count,
                             void *library_options UNUSED, void **library_values UNUSED, uint32_t number UNUSED) {
  return load_with_options(library, image, count, options, values);
}
EXPORT int cuModuleLoad(uint64_t *module, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return 301; /* CUDA_ERROR_FILE_NOT_FOUND */
  struct call bytes = {0};
  char part[65536];
  for (size_t size; (size = fread(part, 1, sizeof part, file));) put(&bytes, part, size);
  fclose(file);
  return finish(&bytes, sim_load(module, bytes.data, bytes.size, NULL, 0));
}
EXPORT int cuLibraryLoadFromFile(uint64_t *library, const char *path, const int *options UNUSED, void **values UNUSED,
                                 uint32_t count UNUSED, void *library_options UNUSED, void **library_values UNUSED,
                                 uint32_t number UNUSED) {
  return cuModuleLoad(library, path);
}

/* Linking: one text of PTX is handed on, as if it had been assembled. */
struct link {
  struct call text;
  int inputs;
};
enum { INPUT_PTX = 1 };

EXPORT int cuLinkCreate_v2(uint32_t count UNUSED, const int *options UNUSED, void **values UNUSED, struct link **state) {
  *state = calloc(1, sizeof **state);
  return *state ? 0 : OUT_OF_MEMORY;
}
EXPORT int cuLinkAddData_v2(struct link *state, int type, const void *data, uint64_t size, const char *name UNUSED,
                            uint32_t count UNUSED, const int *options UNUSED, void **values UNUSED) {
  if (type != INPUT_PTX) return sim_refuse("cuLinkAddData of other than PTX");
  if (state->inputs++) return sim_refuse("cuLinkAddData of several texts");
  put(&state->text, data, size);
  put(&state->text, "", 1);
  return 0;
}
EXPORT int cuLinkComplete(struct link *state, void **image, uint64_t *size) {
  *image = state->text.data;
  if (size) *size = state->text.size;
  return state->inputs ? 0 : INVALID_VALUE;
}
EXPORT int cuLinkDestroy(struct link *state) {
  finish(&state->text, 0);
  free(state);
  return 0;
}

/* Parameters: where each lies in the block that the device reads. */
struct layout {
  struct layout *next;
  uint64_t function;
  uint32_t count;
  struct { uint32_t offset, size; } at[1024]; /* a kernel has at most 32764 bytes of parameters */
};
static struct layout *layouts;

static int layout_of(const struct layout **result, uint64_t function) {
  static pthread_mutex_t busy_here = PTHREAD_MUTEX_INITIALIZER;
  int status = 0;
  pthread_mutex_lock(&busy_here);
  struct layout *known = layouts;
  while (known && known->function != function) known = known->next;
  if (!known && (known = calloc(1, sizeof *known))) {
    status = sim_parameters(function, &known->count, known->at, sizeof known->at);
    if (!status && known->count > sizeof known->at / sizeof *known->at) status = INVALID_VALUE;
    if (status) {
      free(known);
    } else {
      known->function = function;
      known->next = layouts;
      layouts = known;
    }
  }
  pthread_mutex_unlock(&busy_here);
  *result = known;
  return status;
}

struct extents {
  uint32_t grid[3], block[3], cluster[3];
};

static int launch(uint64_t function, const struct extents *extents, uint32_t dynamic, int cooperative, void **parameters,
                  void **extra) {
  const struct layout *layout;
  int status = layout_of(&layout, function);
  if (status) return status;
  unsigned char block[32768] = {0};
  uint64_t size = 0;
  for (uint32_t at = 0; at < layout->count; at++) {
    uint64_t end = (uint64_t)layout->at[at].offset + layout->at[at].size;
    if (end > sizeof block || (!parameters && !extra)) return INVALID_VALUE;
    if (parameters) memcpy(block + layout->at[at].offset, parameters[at], layout->at[at].size);
    if (end > size) size = end;
  }
  for (void **item = extra; item && *item; item += 2) { /* pairs; 1: the block, 2: where its size is */
    if (*item == (void *)1) memcpy(block, item[1], size);
    else if (*item != (void *)2) return INVALID_VALUE;
  }
  status = exchange_ranges(1);
  if (!status) status = sim_launch(function, extents, dynamic, (uint32_t)cooperative, block, size);
  if (!status) status = exchange_ranges(0);
  return status;
}

EXPORT int cuLaunchKernel(uint64_t function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by,
                          uint32_t bz, uint32_t dynamic, uint64_t stream UNUSED, void **parameters, void **extra) {
  struct extents extents = {{gx, gy, gz}, {bx, by, bz}, {1, 1, 1}};
  return launch(function, &extents, dynamic, 0, parameters, extra);
}
EXPORT int cuLaunchCooperativeKernel(uint64_t function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by,
                                     uint32_t bz, uint32_t dynamic, uint64_t stream UNUSED, void **parameters) {
  struct extents extents = {{gx, gy, gz}, {bx, by, bz}, {1, 1, 1}};
  return launch(function, &extents, dynamic, 1, parameters, NULL);
}

struct attribute { /* CUlaunchAttribute and cudaLaunchAttribute: 8 bytes, then a union of 64 */
  uint32_t id, padding;
  union {
    uint32_t words[16];
    char bytes[64];
  } value;
};
enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4 };

struct config { /* CUlaunchConfig */
  uint32_t grid[3], block[3], dynamic;
  uint64_t stream;
  const struct attribute *attributes;
  uint32_t count;
};

static int read_attributes(struct extents *extents, const struct attribute *attributes, uint32_t count) {
  int cooperative = 0;
  for (uint32_t at = 0; attributes && at < count; at++) {
    if (attributes[at].id == ATTRIBUTE_COOPERATIVE) cooperative = attributes[at].value.words[0] != 0;
    if (attributes[at].id == ATTRIBUTE_CLUSTER) memcpy(extents->cluster, attributes[at].value.words, 12);
  }
  return cooperative;
}

static struct extents extents_of(const struct config *config) {
  struct extents result = {{0}, {0}, {1, 1, 1}};
  memcpy(result.grid, config->grid, 12);
  memcpy(result.block, config->block, 12);
  return result;
}

EXPORT int cuLaunchKernelEx(const struct config *config, uint64_t function, void **parameters, void **extra) {
  struct extents extents = extents_of(config);
  int cooperative = read_attributes(&extents, config->attributes, config->count);
  return launch(function, &extents, config->dynamic, cooperative, parameters, extra);
}
EXPORT int cuOccupancyMaxActiveClusters(int32_t *clusters, uint64_t function, const struct config *config) {
  struct extents extents = extents_of(config);
  read_attributes(&extents, config->attributes, config->count);
  return sim_active_clusters(clusters, function, &extents, config->dynamic);
}
EXPORT int cuOccupancyMaxPotentialClusterSize(int32_t *size, uint64_t function, const struct config *config) {
  struct extents extents = extents_of(config);
  return sim_potential_clusters(size, function, &extents, config->dynamic);
}

/* The block size with the most threads on a multiprocessor; `dynamic_of` gives bytes of shared memory by block size. */
static int potential_block(int32_t *grid, int32_t *block, uint64_t function, uint64_t (*dynamic_of)(int),
                           uint64_t dynamic, int32_t limit) {
  int32_t most = 0, units = 0, best = 0;
  int status = cuFuncGetAttribute(&most, 0, function);
  if (!status) status = cuDeviceGetAttribute(&units, 16, 0);
  if (limit > 0 && limit < most) most = limit;
  *block = *grid = 0;
  for (int32_t size = most; size > 0 && !status; size = size % 32 ? size - size % 32 : size - 32) {
    int32_t blocks = 0;
    status = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, size, dynamic_of ? dynamic_of(size) : dynamic);
    if (blocks * size > best) {
      best = blocks * size;
      *block = size;
      *grid = blocks * units;
    }
  }
  return status;
}
EXPORT int cuOccupancyMaxPotentialBlockSize(int32_t *grid, int32_t *block, uint64_t function, uint64_t (*dynamic_of)(int),
                                            uint64_t dynamic, int32_t limit) {
  return potential_block(grid, block, function, dynamic_of, dynamic, limit);
}

EXPORT int cuLaunchHostFunc(uint64_t stream UNUSED, void (*function)(void *), void *data) {
  function(data);
  return 0;
}
EXPORT int cuStreamAddCallback(uint64_t stream, void (*function)(uint64_t, int, void *), void *data,
                               uint32_t flags UNUSED) {
  function(stream, 0, data);
  return 0;
}

EXPORT int cuGetErrorName(int status, const char **name) {
  *name = error_name(status, 0);
  return *name ? 0 : INVALID_VALUE;
}
EXPORT int cuGetErrorString(int status, const char **text) {
  *text = error_text(status);
  return *text ? 0 : INVALID_VALUE;
}

/* The function of the newest version that this library has and that the caller knows: _v4 came with CUDA 13. */
static void *find_symbol(const char *name, int version) {
  char versioned[128];
  static const char *const suffixes[] = {"_v4", "_v3", "_v2", ""};
  for (size_t at = version < 13000; at < sizeof suffixes / sizeof *suffixes; at++) {
    snprintf(versioned, sizeof versioned, "%s%s", name, suffixes[at]);
    void *found = own_symbol(versioned);
    if (found) return found;
  }
  return NULL;
}
EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags UNUSED,
                               int32_t *result) {
  *function = find_symbol(name, version);
  if (result) *result = *function ? 0 : 1; /* CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND */
  return *function ? 0 : NOT_FOUND;
}
EXPORT int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
