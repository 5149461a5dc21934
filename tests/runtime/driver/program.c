/* The driver API from C, as a program linked with -lcuda uses it. Returns the number of the line that went wrong. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
int cuInit(unsigned), cuDriverGetVersion(int *), cuDeviceGetCount(int *), cuDeviceGet(int *, int);
int cuDeviceGetName(char *, int, int), cuDeviceGetAttribute(int *, int, int), cuDevicePrimaryCtxRetain(u64 *, int);
int cuCtxSetCurrent(u64), cuCtxSynchronize(void), cuModuleLoadData(u64 *, const void *), cuModuleUnload(u64);
int cuModuleLoadDataEx(u64 *, const void *, unsigned, const int *, void **), cuModuleGetFunction(u64 *, u64, const char *);
int cuModuleGetGlobal_v2(u64 *, u64 *, u64, const char *), cuFuncGetAttribute(int *, int, u64);
int cuFuncSetAttribute(u64, int, int), cuFuncGetParamInfo(u64, u64, u64 *, u64 *);
int cuMemAlloc_v2(u64 *, u64), cuMemFree_v2(u64), cuMemAllocManaged(u64 *, u64, unsigned), cuMemHostAlloc(void **, u64, unsigned);
int cuMemFreeHost(void *), cuMemHostRegister_v2(void *, u64, unsigned), cuMemHostUnregister(void *);
int cuMemHostGetDevicePointer_v2(u64 *, void *, unsigned), cuMemcpyHtoD_v2(u64, const void *, u64);
int cuMemcpyDtoH_v2(void *, u64, u64), cuMemcpyDtoDAsync_v2(u64, u64, u64, u64), cuMemsetD32_v2(u64, unsigned, u64);
int cuMemGetAddressRange_v2(u64 *, u64 *, u64), cuPointerGetAttribute(void *, int, u64);
int cuStreamCreate(u64 *, unsigned), cuStreamSynchronize(u64), cuEventCreate(u64 *, unsigned), cuEventRecord(u64, u64);
int cuEventElapsedTime(float *, u64, u64), cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, u64, int, u64);
int cuOccupancyMaxPotentialBlockSize(int *, int *, u64, u64 (*)(int), u64, int);
int cuLaunchKernel(u64, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, u64, void **, void **);
int cuGetErrorName(int, const char **), cuGetErrorString(int, const char **), cuGraphCreate(u64 *, unsigned);
int cuGetProcAddress_v2(const char *, void **, int, u64, int *);
int cuTensorMapEncodeTiled(void *, int, unsigned, u64, const u64 *, const u64 *, const unsigned *, const unsigned *, int, int,
                           int, int);

int cuLinkCreate_v2(unsigned, int *, void **, void **), cuLinkComplete(void *, void **, u64 *), cuLinkDestroy(void *);
int cuLinkAddData_v2(void *, int, void *, u64, const char *, unsigned, int *, void **);

int cuLaunchCooperativeKernel(u64, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, u64, void **);

#define WRONG(name) (fprintf(stderr, "line %d: %s\n", __LINE__, name), exit(1))
#define OK(call) do { int status = (call); if (status) WRONG(#call); } while (0)
#define IS(call, code) do { int status = (call); if (status != (code)) WRONG(#call); } while (0)
#define TRUE(condition) do { if (!(condition)) WRONG(#condition); } while (0)
enum { N = 100, BYTES = 4 * N };

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, 1 << 16);
  if (!file || !fread(text, 1, (1 << 16) - 1, file)) exit(99);
  fclose(file);
  return text;
}

int main(int count, char **arguments) {
  int value, blocks, grid, shift = 3;
  u64 context, module, other, axpy, stream, start, stop, x, y, managed, device, base, size, offset;
  float host[N], result[N], milliseconds, a = 2;
  char name[64], log[256];
  const char *text;
  if (count < 2) return 99;
  const char *ptx = read_file(arguments[1]);

  OK(cuInit(0));
  OK(cuDriverGetVersion(&value));
  TRUE(value >= 12000);
  OK(cuDeviceGetCount(&value));
  TRUE(value == 1);
  IS(cuDeviceGet(&value, 1), 101);
  OK(cuDeviceGet(&value, 0));
  OK(cuDeviceGetName(name, sizeof name, 0));
  TRUE(strstr(name, "simulator"));
  OK(cuDeviceGetName(name, 4, 0));
  TRUE(strlen(name) == 3);
  OK(cuDeviceGetAttribute(&value, 75, 0));
  TRUE(value == 9);
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxSetCurrent(context));

  int options[] = {5, 6};
  void *values[] = {log, (void *)sizeof log};
  IS(cuModuleLoadDataEx(&module, "nonsense", 2, options, values), 218);
  TRUE(strstr(log, "PTX line 1"));
  OK(cuModuleLoadData(&module, ptx));
  IS(cuModuleGetFunction(&axpy, module, "nothing"), 500);
  OK(cuModuleGetFunction(&axpy, module, "axpy"));
  OK(cuFuncGetParamInfo(axpy, 1, &offset, &size));
  TRUE(offset == 8 && size == 8);
  IS(cuFuncGetParamInfo(axpy, 4, &offset, &size), 1);
  OK(cuFuncGetAttribute(&value, 0, axpy));
  TRUE(value == 64);
  IS(cuFuncSetAttribute(axpy, 8, 1 << 20), 1);
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, axpy, 64, 0));
  TRUE(blocks == 32);
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &value, axpy, NULL, 0, 0));
  TRUE(value == 64 && grid == 32 * 8);

  for (int i = 0; i < N; i++) host[i] = (float)i + 0.5f;
  OK(cuMemAlloc_v2(&x, BYTES));
  OK(cuMemAlloc_v2(&y, BYTES));
  OK(cuMemcpyHtoD_v2(x, host, BYTES));
  OK(cuMemcpyDtoDAsync_v2(y, x, BYTES, 0));
  OK(cuMemGetAddressRange_v2(&base, &size, x + 7));
  TRUE(base == x && size == BYTES);
  OK(cuPointerGetAttribute(&device, 3, x + 4));
  TRUE(device == x + 4);
  IS(cuPointerGetAttribute(&device, 3, (u64)host), 1);
  int n = N;
  void *parameters[] = {&a, &x, &y, &n};
  OK(cuStreamCreate(&stream, 0));
  OK(cuEventCreate(&start, 0));
  OK(cuEventCreate(&stop, 0));
  OK(cuEventRecord(start, stream));
  OK(cuLaunchKernel(axpy, 2, 1, 1, 64, 1, 1, 0, stream, parameters, NULL));
  OK(cuEventRecord(stop, stream));
  OK(cuStreamSynchronize(stream));
  OK(cuEventElapsedTime(&milliseconds, start, stop));
  TRUE(milliseconds == 0);
  OK(cuMemcpyDtoH_v2(result, y, BYTES));
  for (int i = 0; i < N; i++) TRUE(result[i] == 3 * host[i] + (float)shift);
  IS(cuLaunchCooperativeKernel(axpy, 257, 1, 1, 64, 1, 1, 0, 0, parameters), 720);
  IS(cuLaunchKernel(axpy, 2, 1, 1, 65, 1, 1, 0, 0, parameters, NULL), 701);
  IS(cuLaunchKernel(axpy, 0, 1, 1, 64, 1, 1, 0, 0, parameters, NULL), 1);

  /* a variable of the module keeps its value; the parameters in one block */
  OK(cuModuleGetGlobal_v2(&device, &size, module, "shift"));
  TRUE(size == 4);
  shift = 11;
  OK(cuMemcpyHtoD_v2(device, &shift, 4));
  struct { float a; u64 x, y; int n; } block = {0, x, y, N};
  size = sizeof block;
  void *extra[] = {(void *)1, &block, (void *)2, &size, NULL};
  OK(cuLaunchKernel(axpy, 2, 1, 1, 64, 1, 1, 0, 0, NULL, extra));
  OK(cuMemcpyDtoH_v2(result, y, BYTES));
  for (int i = 0; i < N; i++) TRUE(result[i] == 3 * host[i] + 3 + 11);

  /* memory that both sides see: managed, page-locked, registered */
  float *locked, *registered = malloc(BYTES);
  OK(cuMemAllocManaged(&managed, BYTES, 1));
  OK(cuMemHostAlloc((void **)&locked, BYTES, 0));
  OK(cuMemHostRegister_v2(registered, BYTES, 0));
  OK(cuMemHostGetDevicePointer_v2(&device, registered, 0));
  memcpy((void *)managed, host, BYTES);
  OK(cuMemsetD32_v2((u64)locked, 0, N));
  OK(cuMemsetD32_v2(device, 0, N));
  TRUE(locked[N - 1] == 0 && registered[N - 1] == 0);
  u64 locked_address = (u64)locked;
  void *to_locked[] = {&a, &managed, &locked_address, &n}, *to_registered[] = {&a, &managed, &device, &n};
  OK(cuLaunchKernel(axpy, 2, 1, 1, 64, 1, 1, 0, 0, to_locked, NULL));
  OK(cuLaunchKernel(axpy, 2, 1, 1, 64, 1, 1, 0, 0, to_registered, NULL));
  for (int i = 0; i < N; i++) TRUE(locked[i] == 2 * host[i] + 11 && registered[i] == locked[i]);
  OK(cuMemHostUnregister(registered));
  OK(cuMemFreeHost(locked));
  OK(cuMemFree_v2(managed));
  IS(cuMemFree_v2(managed), 1);

  u64 dims[] = {64, 8}, strides[] = {256};
  unsigned tile[] = {32, 8}, steps[] = {1, 1};
  unsigned char map[128];
  memset(map, 0, sizeof map);
  OK(cuTensorMapEncodeTiled(map, 7, 2, x, dims, strides, tile, steps, 0, 3, 0, 0));
  TRUE(memcmp(map, &x, 8) == 0);
  strides[0] = 24;
  IS(cuTensorMapEncodeTiled(map, 7, 2, x, dims, strides, tile, steps, 0, 3, 0, 0), 1);

  void *function, *link, *image;
  OK(cuLinkCreate_v2(0, NULL, NULL, &link));
  OK(cuLinkAddData_v2(link, 1, (void *)ptx, strlen(ptx), "axpy", 0, NULL, NULL));
  if (count > 2) IS(cuLinkAddData_v2(link, 1, (void *)ptx, strlen(ptx), "axpy", 0, NULL, NULL), 801);
  OK(cuLinkComplete(link, &image, &size));
  OK(cuModuleLoadData(&other, image));
  OK(cuModuleGetFunction(&device, other, "axpy"));
  OK(cuModuleUnload(other));
  OK(cuLinkDestroy(link));
  OK(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &value));
  TRUE(function == (void *)cuMemAlloc_v2 && value == 0);
  IS(cuGetProcAddress_v2("cuNothing", &function, 12000, 0, &value), 500);
  OK(cuGetErrorName(700, &text));
  TRUE(!strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
  OK(cuGetErrorString(1, &text));
  TRUE(!strcmp(text, "invalid argument"));
  IS(cuGetErrorString(12345, &text), 1);
  if (count > 2) IS(cuGraphCreate(&other, 0), 801);

  OK(cuMemFree_v2(x));
  if (count > 2) { /* x is freed: the kernel reads what is not there, and nothing works afterwards */
    IS(cuLaunchKernel(axpy, 2, 1, 1, 64, 1, 1, 0, 0, parameters, NULL), 700);
    IS(cuMemcpyDtoH_v2(result, y, BYTES), 700);
    IS(cuCtxSynchronize(), 700);
    return 7;
  }
  OK(cuModuleUnload(module));
  IS(cuModuleGetFunction(&axpy, module, "axpy"), 400);
  OK(cuCtxSynchronize());
  puts("right");
  return 0;
}
