/* The runtime API, on the driver's functions. Every cuda... function keeps its status for cudaGetLastError. */

typedef struct {
  uint32_t x, y, z;
} dim3;

/* What the program's constructors register: fat binaries, kernels by the address of their stub, variables. */
struct binary {
  const void *image;
  uint64_t module; /* 0 until something of it is used */
};
struct registered {
  struct registered *next;
  const void *host;
  struct binary *binary;
  char *name;
  uint64_t device, size; /* the function, or the variable's address; 0 until it is used */
  void **managed;        /* where the program keeps the address of a managed variable */
};
static struct registered *kernels, *variables;
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;

static void add_registered(struct registered **list, struct binary *binary, const void *host, const char *name,
                           uint64_t size, void **managed) {
  struct registered *entry = calloc(1, sizeof *entry);
  if (!entry) abort();
  *entry = (struct registered){.host = host, .binary = binary, .name = strdup(name), .size = size, .managed = managed};
  pthread_mutex_lock(&registry);
  entry->next = *list;
  *list = entry;
  pthread_mutex_unlock(&registry);
}

static struct registered *find_registered(struct registered *list, const void *host) {
  while (list && list->host != host) list = list->next;
  return list;
}

/* A managed variable lies in host memory, and is carried to its place in the module and back by launches. */
static int share_managed(struct binary *binary) {
  int status = 0;
  for (struct registered *each = variables; each && !status; each = each->next) {
    if (each->binary != binary || !each->managed) continue;
    status = cuModuleGetGlobal_v2(&each->device, &each->size, binary->module, each->name);
    if (!status) status = sim_read(each->device, *each->managed, each->size);
    if (!status) status = add_range(each->device, *each->managed, each->size, REGISTERED);
  }
  return status;
}

static int module_of(struct binary *binary) {
  int status = 0;
  pthread_mutex_lock(&registry);
  if (!binary->module) {
    status = load_image(&binary->module, binary->image, NULL, 0);
    if (!status) status = share_managed(binary);
  }
  pthread_mutex_unlock(&registry);
  return status;
}

/* The function behind the address of a kernel's stub; what is no stub is a cudaKernel_t or cudaFunction_t itself. */
static int function_of(uint64_t *function, const void *host) {
  struct registered *kernel = find_registered(kernels, host);
  if (!kernel) return *function = (uint64_t)host, (uint64_t)host >> 32 ? INVALID_FUNCTION : 0;
  int status = kernel->device ? 0 : module_of(kernel->binary);
  if (!status && !kernel->device) status = cuModuleGetFunction(&kernel->device, kernel->binary->module, kernel->name);
  *function = kernel->device;
  return status;
}

static int variable_of(uint64_t *address, uint64_t *size, const void *host) {
  struct registered *variable = find_registered(variables, host);
  if (!variable) return 13; /* cudaErrorInvalidSymbol */
  int status = variable->device ? 0 : module_of(variable->binary);
  if (!status && !variable->device)
    status = cuModuleGetGlobal_v2(&variable->device, &variable->size, variable->binary->module, variable->name);
  *address = variable->device;
  if (size) *size = variable->size;
  return status;
}

EXPORT void **__cudaRegisterFatBinary(void *image) {
  struct binary *binary = calloc(1, sizeof *binary);
  if (!binary) abort();
  binary->image = image;
  const struct wrapper *wrapped = image;
  sim_announce(wrapped->data, image_size(wrapped->data));
  return (void **)binary;
}
EXPORT void __cudaRegisterFatBinaryEnd(void **handle UNUSED) {}
EXPORT void __cudaUnregisterFatBinary(void **handle UNUSED) {}
EXPORT char __cudaInitModule(void **handle) { return !module_of((struct binary *)handle); }
EXPORT void __cudaRegisterFunction(void **handle, const void *host, char *device UNUSED, const char *name,
                                   int limit UNUSED, void *tid UNUSED, void *bid UNUSED, void *block UNUSED,
                                   void *grid UNUSED, int *warp UNUSED) {
  add_registered(&kernels, (struct binary *)handle, host, name, 0, NULL);
}
EXPORT void __cudaRegisterVar(void **handle, char *host, char *device UNUSED, const char *name, int external UNUSED,
                              uint64_t size, int constant UNUSED, int global UNUSED) {
  add_registered(&variables, (struct binary *)handle, host, name, size, NULL);
}
EXPORT void __cudaRegisterHostVar(void **handle UNUSED, const char *name UNUSED, char *host UNUSED, uint64_t size UNUSED) {}
EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device UNUSED, const char *name,
                                     int external UNUSED, uint64_t size, int constant UNUSED, int global UNUSED) {
  *host = calloc(1, size);
  if (!*host) abort();
  add_registered(&variables, (struct binary *)handle, *host, name, size, host);
}

/* The <<<...>>> of a launch, kept from the call to the stub. */
static _Thread_local struct {
  dim3 grid, block;
  uint64_t dynamic, stream;
} configurations[16];
static _Thread_local unsigned depth;

EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, uint64_t dynamic, uint64_t stream) {
  if (depth == sizeof configurations / sizeof *configurations) return 1;
  configurations[depth].grid = grid;
  configurations[depth].block = block;
  configurations[depth].dynamic = dynamic;
  configurations[depth++].stream = stream;
  return 0;
}
EXPORT int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, uint64_t *dynamic, uint64_t *stream) {
  if (!depth) return INVALID_VALUE;
  depth--;
  *grid = configurations[depth].grid;
  *block = configurations[depth].block;
  *dynamic = configurations[depth].dynamic;
  *stream = configurations[depth].stream;
  return 0;
}

static struct extents extents_from(dim3 grid, dim3 block) {
  return (struct extents){{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, {1, 1, 1}};
}

static int launch_host(const void *host, struct extents extents, void **parameters, uint64_t dynamic, int cooperative) {
  uint64_t function;
  int status = function_of(&function, host);
  return note(status ? status : launch(function, &extents, (uint32_t)dynamic, cooperative, parameters, NULL));
}
EXPORT int cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **parameters, uint64_t dynamic,
                            uint64_t stream UNUSED) {
  return launch_host(host, extents_from(grid, block), parameters, dynamic, 0);
}
EXPORT int cudaLaunchCooperativeKernel(const void *host, dim3 grid, dim3 block, void **parameters, uint64_t dynamic,
                                       uint64_t stream UNUSED) {
  return launch_host(host, extents_from(grid, block), parameters, dynamic, 1);
}
EXPORT int __cudaGetKernel(uint64_t *kernel, const void *host) { return note(function_of(kernel, host)); }

struct runtime_config { /* cudaLaunchConfig_t */
  dim3 grid, block;
  uint64_t dynamic, stream;
  const struct attribute *attributes;
  uint32_t count;
};
EXPORT int cudaLaunchKernelExC(const struct runtime_config *config, const void *host, void **parameters) {
  struct extents extents = extents_from(config->grid, config->block);
  int cooperative = read_attributes(&extents, config->attributes, config->count);
  return launch_host(host, extents, parameters, config->dynamic, cooperative);
}
EXPORT int cudaOccupancyMaxActiveClusters(int32_t *clusters, const void *host, const struct runtime_config *config) {
  struct extents extents = extents_from(config->grid, config->block);
  uint64_t function;
  int status = function_of(&function, host);
  read_attributes(&extents, config->attributes, config->count);
  return note(status ? status : sim_active_clusters(clusters, function, &extents, (uint32_t)config->dynamic));
}
EXPORT int cudaOccupancyMaxPotentialClusterSize(int32_t *size, const void *host, const struct runtime_config *config) {
  struct extents extents = extents_from(config->grid, config->block);
  uint64_t function;
  int status = function_of(&function, host);
  return note(status ? status : sim_potential_clusters(size, function, &extents, (uint32_t)config->dynamic));
}
EXPORT int cudaLaunchHostFunc(uint64_t stream, void (*function)(void *), void *data) {
  return note(cuLaunchHostFunc(stream, function, data));
}
EXPORT int cudaStreamAddCallback(uint64_t stream, void (*function)(uint64_t, int, void *), void *data, uint32_t flags) {
  return note(cuStreamAddCallback(stream, function, data, flags));
}

EXPORT int cudaFuncGetAttributes(void *attributes, const void *host) {
  uint64_t function;
  int status = function_of(&function, host);
  return note(status ? status : sim_function_attributes(attributes, function));
}
EXPORT int cudaFuncSetAttribute(const void *host, int attribute, int value) {
  uint64_t function;
  int status = function_of(&function, host);
  return note(status ? status : cuFuncSetAttribute(function, attribute, value));
}
EXPORT int cudaFuncSetCacheConfig(const void *host UNUSED, int config UNUSED) { return 0; }
EXPORT int cudaFuncSetSharedMemConfig(const void *host UNUSED, int config UNUSED) { return 0; }
EXPORT int cudaGetFuncBySymbol(uint64_t *function, const void *host) { return note(function_of(function, host)); }
EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int32_t *blocks, const void *host, int size,
                                                                  uint64_t dynamic, uint32_t flags UNUSED) {
  uint64_t function;
  int status = function_of(&function, host);
  return note(status ? status : cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, size, dynamic));
}
EXPORT int cudaOccupancyAvailableDynamicSMemPerBlock(uint64_t *dynamic, const void *host, int blocks, int size) {
  uint64_t function;
  int status = function_of(&function, host);
  return note(status ? status : cuOccupancyAvailableDynamicSMemPerBlock(dynamic, function, blocks, size));
}

EXPORT int cudaGetSymbolAddress(uint64_t *address, const void *symbol) {
  return note(variable_of(address, NULL, symbol));
}
EXPORT int cudaGetSymbolSize(uint64_t *size, const void *symbol) {
  uint64_t address;
  return note(variable_of(&address, size, symbol));
}
EXPORT int cudaMemcpyToSymbol(const void *symbol, uint64_t source, uint64_t size, uint64_t offset, int kind UNUSED) {
  uint64_t address, room;
  int status = variable_of(&address, &room, symbol);
  if (!status && offset + size > room) status = INVALID_VALUE;
  return note(status ? status : copy(address + offset, source, size));
}
EXPORT int cudaMemcpyFromSymbol(uint64_t to, const void *symbol, uint64_t size, uint64_t offset, int kind UNUSED) {
  uint64_t address, room;
  int status = variable_of(&address, &room, symbol);
  if (!status && offset + size > room) status = INVALID_VALUE;
  return note(status ? status : copy(to, address + offset, size));
}

EXPORT int cudaMalloc(uint64_t *address, uint64_t size) {
  if (!size) return *address = 0, 0;
  return note(cuMemAlloc_v2(address, size));
}
EXPORT int cudaMallocAsync(uint64_t *address, uint64_t size, uint64_t stream UNUSED) { return cudaMalloc(address, size); }
EXPORT int cudaMallocFromPoolAsync(uint64_t *address, uint64_t size, uint64_t pool UNUSED, uint64_t stream UNUSED) {
  return cudaMalloc(address, size);
}
EXPORT int cudaMallocPitch(uint64_t *address, uint64_t *pitch, uint64_t width, uint64_t rows) {
  return note(cuMemAllocPitch_v2(address, pitch, width, rows, 4));
}
EXPORT int cudaMallocManaged(uint64_t *address, uint64_t size, uint32_t flags UNUSED) {
  return note(allocate_mapped(address, size, MANAGED));
}
EXPORT int cudaHostAlloc(uint64_t *host, uint64_t size, uint32_t flags UNUSED) {
  return note(allocate_mapped(host, size, PAGE_LOCKED));
}
EXPORT int cudaMallocHost(uint64_t *host, uint64_t size) { return note(allocate_mapped(host, size, PAGE_LOCKED)); }
EXPORT int cudaFree(uint64_t address) { return note(address ? release(address) : cuCtxSynchronize()); }
EXPORT int cudaFreeAsync(uint64_t address, uint64_t stream UNUSED) { return note(release(address)); }
EXPORT int cudaFreeHost(uint64_t address) { return note(release(address)); }
EXPORT int cudaHostRegister(uint64_t host, uint64_t size, uint32_t flags UNUSED) {
  return note(register_host(host, size));
}
EXPORT int cudaHostUnregister(uint64_t host) { return note(cuMemHostUnregister(host)); }
EXPORT int cudaHostGetDevicePointer(uint64_t *device, uint64_t host, uint32_t flags UNUSED) {
  return note(device_address(device, host));
}
EXPORT int cudaHostGetFlags(uint32_t *flags, uint64_t host) { return note(cuMemHostGetFlags(flags, host)); }
/* Of which kind a copy is shows in its addresses, as with cudaMemcpyDefault. */
EXPORT int cudaMemcpy(uint64_t to, uint64_t source, uint64_t size, int kind UNUSED) {
  return note(copy(to, source, size));
}
EXPORT int cudaMemcpyPeer(uint64_t to, int device UNUSED, uint64_t source, int other UNUSED, uint64_t size) {
  return note(copy(to, source, size));
}
EXPORT int cudaMemcpy2D(uint64_t to, uint64_t to_pitch, uint64_t source, uint64_t source_pitch, uint64_t width,
                        uint64_t rows, int kind UNUSED) {
  return note(copy_rows(to, to_pitch, source, source_pitch, width, rows));
}
EXPORT int cudaMemset(uint64_t address, int value, uint64_t size) { return note(fill(address, (uint32_t)value, 1, size)); }
EXPORT int cudaMemset2D(uint64_t address, uint64_t pitch, int value, uint64_t width, uint64_t rows) {
  return note(fill_rows(address, pitch, (uint32_t)value, 1, width, rows));
}
EXPORT int cudaMemPrefetchAsync() { return 0; }
EXPORT int cudaMemAdvise() { return 0; }

struct pointer_attributes { /* cudaPointerAttributes; types as cudaMemoryType */
  int32_t type, device;
  void *device_pointer, *host_pointer;
};
EXPORT int cudaPointerGetAttributes(struct pointer_attributes *attributes, uint64_t address) {
  struct shared_range *range = range_of(address);
  *attributes = (struct pointer_attributes){0, address < DEVICE_FIRST && !range ? -2 : 0, NULL, NULL};
  if (address < DEVICE_FIRST && !range) {
    attributes->host_pointer = (void *)address;
    return 0;
  }
  uint64_t device = address, base, size;
  if (range) device_address(&device, address);
  int status = sim_range(device, &base, &size);
  attributes->type = !range ? 2 : range->kind == MANAGED ? 3 : 1;
  attributes->device_pointer = (void *)device;
  attributes->host_pointer = host_of(address);
  return note(status);
}

EXPORT int cudaGetDeviceProperties(void *properties, int device) { return note(sim_properties(properties, device, 13)); }
EXPORT int cudaGetDeviceProperties_v2(void *properties, int device) {
  return note(sim_properties(properties, device, 12));
}
EXPORT int cudaGetLastError(void) {
  int status = last_error;
  last_error = 0;
  return status;
}
EXPORT int cudaPeekAtLastError(void) { return last_error; }
EXPORT const char *cudaGetErrorName(int status) {
  const char *name = error_name(status, 1);
  return name ? name : "unrecognized error code";
}
EXPORT const char *cudaGetErrorString(int status) {
  const char *text = error_text(status);
  return text ? text : "unrecognized error code";
}
EXPORT int cudaGetDriverEntryPointByVersion(const char *name, void **function, uint32_t version, uint64_t flags,
                                            int32_t *result) {
  int status = cuGetProcAddress_v2(name, function, (int)version, flags, result);
  return note(status == NOT_FOUND && result ? 0 : status);
}
EXPORT int cudaGetDriverEntryPoint(const char *name, void **function, uint64_t flags, int32_t *result) {
  return cudaGetDriverEntryPointByVersion(name, function, 12000, flags, result);
}
EXPORT int cudaLibraryLoadData(uint64_t *library, const void *image, const int *options, void **values, uint32_t count,
                               void *library_options UNUSED, void **library_values UNUSED, uint32_t number UNUSED) {
  return note(load_with_options(library, image, count, options, values));
}
