/* A driver that writes down what it is asked, a line a call. CODE is the architecture of the code that it chose, SIZES
   are the bytes of the kernel's parameters, FAIL is the call that fails. names.h says what enumerations are called. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

#ifdef __cplusplus
extern "C" {
#endif

static CUresult done(const char *name) {
  const char *fails = getenv("FAIL");
  return fails && strcmp(fails, name) == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  printf("load %s\n", (const char *)image);
  *module = (CUmodule)1;
  return done("load");
}
CUresult cuModuleUnload(CUmodule module) { return printf("unload %d\n", (int)(size_t)module), done("unload"); }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  (void)module;
  printf("function %s\n", name);
  *function = (CUfunction)2;
  return done("function");
}
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
  (void)function;
  *value = attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION ? atoi(getenv("CODE")) : 0;
  return done("attribute");
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  (void)function;
  printf("%s %d\n", attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? "shared" : "attribute", value);
  return done("shared");
}
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
  printf("allocate %d\n", (int)size);
  *address = 0x70000;
  return done("allocate");
}
CUresult cuMemFree_v2(CUdeviceptr address) { return printf("free %llx\n", address), done("free"); }
CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream) {
  printf("allocate %d in %d\n", (int)size, (int)(size_t)stream);
  *address = 0x90000;
  return done("allocate");
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return printf("free %llx in %d\n", address, (int)(size_t)stream), done("free");
}
CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t size) {
  printf("fill %llx %d %d\n", address, value, (int)size);
  return done("fill");
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t size, CUstream stream) {
  printf("fill %llx %d %d in %d\n", address, value, (int)size, (int)(size_t)stream);
  return done("fill");
}
CUresult cuCtxGetDevice(CUdevice *device) { return *device = 0, done("device"); }
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT && device == 0 ? 132 : 0;
  return done("multiprocessors");
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *found, CUfunction function, int threads, size_t shared) {
  (void)function;
  printf("blocks of %d threads, %d bytes\n", threads, (int)shared);
  *found = 1;
  return done("blocks");
}
CUresult cuOccupancyMaxActiveClusters(int *found, CUfunction function, const CUlaunchConfig *config) {
  (void)function;
  printf("clusters of %u CTAs\n", config->gridDimX * config->gridDimY * config->gridDimZ);
  *found = 3;
  return done("clusters");
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *base,
                                const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  static int maps;
  unsigned i;
  printf("map %llx of %s %s %s %s %s", (unsigned long long)(size_t)base, type_name(type), interleave_name(interleave),
         swizzle_name(swizzle), promotion_name(promotion), fill_name(fill));
  for (i = 0; i < rank; ++i) printf(" %llu/%u/%u", (unsigned long long)dims[i], box[i], steps[i]);
  for (i = 0; i + 1 < rank; ++i) printf(" %llu", (unsigned long long)strides[i]);
  printf("\n");
  memset(map, ++maps, sizeof *map);
  return done("map");
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra) {
  unsigned i;
  const char *sizes = getenv("SIZES");
  printf("launch %d over %u %u %u by %u %u %u with %u in %d", (int)(size_t)function, config->gridDimX, config->gridDimY,
         config->gridDimZ, config->blockDimX, config->blockDimY, config->blockDimZ, config->sharedMemBytes,
         (int)(size_t)config->hStream);
  for (i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      printf(" cluster %u %u %u", config->attrs[i].value.clusterDim.x, config->attrs[i].value.clusterDim.y,
             config->attrs[i].value.clusterDim.z);
    else if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      printf(" dependent %d", config->attrs[i].value.programmaticStreamSerializationAllowed);
    else
      printf(" attribute %d", (int)config->attrs[i].id);
  for (i = 0; sizes && *sizes; ++i) {
    char *end;
    const long size = strtol(sizes, &end, 10);
    long at;
    printf(" ");
    for (at = 0; at < size; ++at) printf("%02x", ((unsigned char *)parameters[i])[at]);
    sizes = *end ? end + 1 : end;
  }
  printf("%s\n", extra ? " and more" : "");
  return done("launch");
}

#ifdef __cplusplus
}
#endif
