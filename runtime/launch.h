/* Launching kernels that TileSat has compiled, over the CUDA driver API (12.0 and later). */

/* The launch manifest for one target, as constants. */
struct tilesat_plan {
  const char *target;    /* such as "sm_90a" */
  int architecture;      /* 90: the driver says so of the code that it has chosen */
  unsigned block[3];     /* threads of a CTA */
  unsigned cluster[3];   /* CTAs that do the work of one tile block */
  unsigned dynamic_smem; /* bytes a CTA */
  bool dependent;        /* waits by itself for the grid before it */
  bool persistent;       /* as many CTAs as fit the device at once go through all tile blocks */
  bool counts;           /* and take their numbers from a counter */
  unsigned parts;        /* CTAs without a cluster that do the work of one tile block; 1 where none do */
  size_t sums;           /* bytes of memory in which they leave their sums, for a tile block */
  size_t shares;         /* the same for each CTA, where those that fit the device share steps; else 0 */
};

/* A kernel in the current context. Launches of a persistent one follow each other in one stream: load it once a stream. */
struct tilesat_kernel {
  CUmodule module;
  CUfunction function;
  const struct tilesat_plan *plan;
  CUdeviceptr workspace; /* padding of zeros, padding of NaN, counter */
  unsigned resident;     /* tile blocks that fit the device at once, of a persistent kernel */
  bool dependent;        /* set it to launch before the grid ahead has ended, where the plan allows it */
};

/* The fields of a tensor map that no argument changes. */
struct tilesat_box {
  CUtensorMapDataType type;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
  unsigned rank;
  cuuint32_t extents[5];
  cuuint32_t steps[5];
};

static inline CUdeviceptr tilesat_counter(const struct tilesat_kernel *kernel) {
  return kernel->workspace + 2 * TILESAT_PADDING_BYTES;
}

/* a / b rounded up; *status becomes CUDA_ERROR_INVALID_VALUE for a division by zero. */
static inline int64_t tilesat_ceildiv(int64_t a, int64_t b, CUresult *status) {
  if (b == 0) {
    *status = CUDA_ERROR_INVALID_VALUE;
    return 0;
  }
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

/* A tensor map. A view without elements is mapped to padding, since no extent may be 0. */
static inline CUresult tilesat_encode(const struct tilesat_kernel *kernel, CUtensorMap *map,
                                      const struct tilesat_box *box, int64_t base, const int64_t *extents,
                                      const int64_t *strides) {
  cuuint64_t dims[5], pitches[5];
  bool empty = false;
  for (unsigned i = 0; i < box->rank; ++i) {
    if (extents[i] < 0 || extents[i] > TILESAT_MOST_ELEMENTS) return CUDA_ERROR_INVALID_VALUE;
    if (extents[i] == 0) empty = true;
  }
  for (unsigned i = 0; i < box->rank; ++i) {
    dims[i] = empty ? 1 : (cuuint64_t)extents[i];
    pitches[i] = empty ? TILESAT_PADDING_BYTES : i + 1 < box->rank ? (cuuint64_t)strides[i] : 0;
  }
  if (empty) {
    base = (int64_t)kernel->workspace;
    if (box->fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) base += TILESAT_PADDING_BYTES;
  }
  return cuTensorMapEncodeTiled(map, box->type, box->rank, (void *)(uintptr_t)base, dims, pitches, box->extents,
                                box->steps, box->interleave, box->swizzle, box->promotion, box->fill);
}

static inline void tilesat_configure(CUlaunchConfig *config, CUlaunchAttribute *attributes,
                                     const struct tilesat_plan *plan) {
  memset(config, 0, sizeof *config);
  config->blockDimX = plan->block[0];
  config->blockDimY = plan->block[1];
  config->blockDimZ = plan->block[2];
  config->sharedMemBytes = plan->dynamic_smem;
  config->attrs = attributes;
  if (plan->cluster[0] * plan->cluster[1] * plan->cluster[2] > 1) {
    CUlaunchAttribute *cluster = &attributes[config->numAttrs++];
    memset(cluster, 0, sizeof *cluster);
    cluster->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster->value.clusterDim.x = plan->cluster[0];
    cluster->value.clusterDim.y = plan->cluster[1];
    cluster->value.clusterDim.z = plan->cluster[2];
  }
}

/* How many tile blocks fit the device at once: CTAs, or clusters of them. */
static inline CUresult tilesat_measure(struct tilesat_kernel *kernel) {
  const struct tilesat_plan *plan = kernel->plan;
  CUlaunchAttribute attributes[2];
  CUlaunchConfig config;
  CUdevice device;
  int found = 0, multiprocessors = 1;
  CUresult status = CUDA_SUCCESS;
  tilesat_configure(&config, attributes, plan);
  if (config.numAttrs) {
    config.gridDimX = plan->cluster[0];
    config.gridDimY = plan->cluster[1];
    config.gridDimZ = plan->cluster[2];
    status = cuOccupancyMaxActiveClusters(&found, kernel->function, &config);
  } else {
    const int threads = (int)(plan->block[0] * plan->block[1] * plan->block[2]);
    status = cuCtxGetDevice(&device);
    if (!status) status = cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    if (!status)
      status = cuOccupancyMaxActiveBlocksPerMultiprocessor(&found, kernel->function, threads, plan->dynamic_smem);
  }
  kernel->resident = found > 0 ? (unsigned)(found * multiprocessors) : 1;
  return status;
}

static inline CUresult tilesat_unload(struct tilesat_kernel *kernel) {
  CUresult freed = kernel->workspace ? cuMemFree(kernel->workspace) : CUDA_SUCCESS;
  CUresult unloaded = kernel->module ? cuModuleUnload(kernel->module) : CUDA_SUCCESS;
  memset(kernel, 0, sizeof *kernel);
  return freed ? freed : unloaded;
}

/* Loads a cubin, a fat binary or PTX, and finds the plan of the code in it that the driver takes for this device. */
static inline CUresult tilesat_load(struct tilesat_kernel *kernel, const void *image, const char *entry,
                                    const struct tilesat_plan *plans, size_t count) {
  int architecture = 0;
  CUresult status;
  memset(kernel, 0, sizeof *kernel);
  status = cuModuleLoadData(&kernel->module, image);
  if (!status) status = cuModuleGetFunction(&kernel->function, kernel->module, entry);
  if (!status) status = cuFuncGetAttribute(&architecture, CU_FUNC_ATTRIBUTE_PTX_VERSION, kernel->function);
  for (size_t i = 0; i < count; ++i)
    if (plans[i].architecture == architecture) kernel->plan = &plans[i];
  if (!status && !kernel->plan) status = CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (!status)
    status = cuFuncSetAttribute(kernel->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                (int)kernel->plan->dynamic_smem);
  if (!status) status = cuMemAlloc(&kernel->workspace, 2 * TILESAT_PADDING_BYTES + sizeof(int32_t));
  if (!status) status = cuMemsetD8(kernel->workspace, TILESAT_FILL_ZERO, TILESAT_PADDING_BYTES);
  if (!status)
    status = cuMemsetD8(kernel->workspace + TILESAT_PADDING_BYTES, TILESAT_FILL_NAN, TILESAT_PADDING_BYTES);
  if (!status && kernel->plan->persistent) status = tilesat_measure(kernel);
  if (status) tilesat_unload(kernel);
  return status;
}

/* Memory for the tickets of a grid's tile blocks, which become zero, and behind them for the sums; to be freed, by the
   address of the tickets, in the order of the stream. */
static inline CUresult tilesat_parts(const struct tilesat_kernel *kernel, const unsigned *grid, CUstream stream,
                                     CUdeviceptr *tickets, CUdeviceptr *sums) {
  const uint64_t plane = (uint64_t)grid[0] * grid[1];
  if (plane > TILESAT_MOST_TILES || plane * grid[2] > TILESAT_MOST_TILES) return CUDA_ERROR_INVALID_VALUE;
  const size_t blocks = (size_t)(plane * grid[2]);
  const size_t room = (blocks * sizeof(int32_t) + 255) / 256 * 256;
  const size_t bytes = blocks * kernel->plan->sums + (size_t)kernel->resident * kernel->plan->shares;
  CUresult status = cuMemAllocAsync(tickets, room + bytes, stream);
  if (status) return status;
  *sums = *tickets + room;
  status = cuMemsetD8Async(*tickets, 0, blocks * sizeof(int32_t), stream);
  if (status) cuMemFreeAsync(*tickets, stream);
  return status;
}

/* Launches over a grid of tile blocks. */
static inline CUresult tilesat_launch(const struct tilesat_kernel *kernel, const unsigned *grid, CUstream stream,
                                      void **parameters) {
  static const unsigned limits[3] = {TILESAT_GRID_X, TILESAT_GRID_Y, TILESAT_GRID_Z};
  const struct tilesat_plan *plan = kernel->plan;
  CUlaunchAttribute attributes[2];
  CUlaunchConfig config;
  unsigned blocks[3] = {grid[0], grid[1], grid[2]};
  const unsigned along[3] = {plan->cluster[0] * plan->parts, plan->cluster[1], plan->cluster[2]};
  tilesat_configure(&config, attributes, plan);
  config.hStream = stream;
  if (plan->persistent) {
    const uint64_t plane = (uint64_t)grid[0] * grid[1];
    if (plane > TILESAT_MOST_TILES || plane * grid[2] > TILESAT_MOST_TILES) return CUDA_ERROR_INVALID_VALUE;
    blocks[0] = kernel->resident;
    if (!plan->shares && plane * grid[2] < kernel->resident) blocks[0] = (unsigned)(plane * grid[2]);
    blocks[1] = blocks[2] = 1;
  }
  for (int axis = 0; axis < 3; ++axis)
    if (blocks[axis] == 0 || blocks[axis] > limits[axis] / along[axis]) return CUDA_ERROR_INVALID_VALUE;
  config.gridDimX = blocks[0] * along[0];
  config.gridDimY = blocks[1] * along[1];
  config.gridDimZ = blocks[2] * along[2];
  if (kernel->dependent) {
    CUlaunchAttribute *early = &attributes[config.numAttrs++];
    if (!plan->dependent) return CUDA_ERROR_INVALID_VALUE;
    memset(early, 0, sizeof *early);
    early->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    early->value.programmaticStreamSerializationAllowed = 1;
  }
  if (plan->counts) {
    CUresult status = cuMemsetD8Async(tilesat_counter(kernel), 0, sizeof(int32_t), stream);
    if (status) return status;
  }
  return cuLaunchKernelEx(&config, kernel->function, parameters, NULL);
}
