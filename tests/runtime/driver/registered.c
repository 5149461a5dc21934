/* What nvcc makes of a kernel and of <<<...>>>, by hand: a fat binary with PTX, its registration, the stub.
 * Returns the number of the line that went wrong. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
typedef struct { unsigned x, y, z; } dim3;
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **), __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const void *, char *, const char *, int, void *, void *, void *, void *, int *);
char __cudaInitModule(void **);
void __cudaRegisterManagedVar(void **, void **, char *, const char *, int, u64, int, int);
void __cudaRegisterVar(void **, char *, char *, const char *, int, u64, int, int);
unsigned __cudaPushCallConfiguration(dim3, dim3, u64, void *);
int __cudaPopCallConfiguration(dim3 *, dim3 *, u64 *, void *), cudaLaunchKernel(const void *, dim3, dim3, void **, u64, void *);
int cudaMalloc(void **, u64), cudaFree(void *), cudaMemcpy(void *, const void *, u64, int), cudaMemset(void *, int, u64);
int cudaMemcpy2D(void *, u64, const void *, u64, u64, u64, int), cudaMallocManaged(void **, u64, unsigned);
int cudaMemcpyToSymbol(const void *, const void *, u64, u64, int), cudaGetLastError(void), cudaPeekAtLastError(void);
int cudaMemcpyFromSymbol(void *, const void *, u64, u64, int), cudaDeviceSynchronize(void), cudaGetDeviceProperties(void *, int);
int cudaFuncGetAttributes(void *, const void *), cudaFuncSetAttribute(const void *, int, int), cudaGraphCreate(void **, unsigned);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, u64), cudaMemcpyAsync_ptsz(void *, const void *, u64, int, void *);
int cudaGetDriverEntryPointByVersion(const char *, void **, unsigned, u64, int *);
int cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, u64, void *);
const char *cudaGetErrorName(int), *cudaGetErrorString(int);

#define WRONG(name) (fprintf(stderr, "line %d: %s\n", __LINE__, name), exit(1))
#define OK(call) do { int status = (call); if (status) WRONG(#call); } while (0)
#define TRUE(condition) do { if (!(condition)) WRONG(#condition); } while (0)
enum { N = 64, BYTES = 4 * N, RECORD = 1 << 16 };

static struct { unsigned magic, version; const void *data; void *file; } wrapper = {0x466243b1, 1, 0, 0};
static void **handle;
static int factor; /* the host's shadow of a variable of the module */
static int *added; /* where a managed variable is */

static void reverse(int *data) { /* the stub of the kernel */
  void *arguments[] = {&data};
  dim3 grid, block;
  u64 dynamic;
  void *stream;
  if (__cudaPopCallConfiguration(&grid, &block, &dynamic, &stream)) exit(98);
  cudaLaunchKernel((const void *)reverse, grid, block, arguments, dynamic, stream);
}

/* A fat binary with one entry, PTX for sm_80 that is not compressed. */
static void *fat_binary(const char *path) {
  static unsigned char record[RECORD];
  FILE *file = fopen(path, "rb");
  u64 size = file ? fread(record + 80, 1, RECORD - 80, file) : 0;
  if (!size) exit(99);
  size = (size + 8) / 8 * 8;
  unsigned header[] = {0xba55ed50, 0x00100001}, entry[] = {0x01010001, 64}, architecture = 80;
  u64 whole = 64 + size;
  memcpy(record, header, 8);
  memcpy(record + 8, &whole, 8);
  memcpy(record + 16, entry, 8);
  memcpy(record + 24, &size, 8);
  memcpy(record + 16 + 28, &architecture, 4);
  return record;
}

__attribute__((constructor)) static void register_all(void) {
  wrapper.data = fat_binary(getenv("KERNELS"));
  handle = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(handle, (const void *)reverse, "reverse", "reverse", -1, 0, 0, 0, 0, 0);
  __cudaRegisterVar(handle, (char *)&factor, "factor", "factor", 0, 4, 1, 0);
  __cudaRegisterManagedVar(handle, (void **)&added, "added", "added", 0, 4, 0, 0);
  __cudaRegisterFatBinaryEnd(handle);
}

int main(void) {
  int host[N], result[N], twice = 2, value, *device, *managed;
  u64 attributes[18];
  char properties[2048];
  dim3 one = {1, 1, 1}, block = {N, 1, 1};
  void *function;
  for (int i = 0; i < N; i++) host[i] = i * i - 7;
  OK(cudaGetDeviceProperties(properties, 0));
  memcpy(&value, properties + 360, 4);
  TRUE(value == 8); /* as the newest PTX that was registered */
  OK(cudaMalloc((void **)&device, BYTES));
  OK(cudaMemset(device, 0, BYTES));
  OK(cudaMemcpy2D(device, 32, host, 32, 32, BYTES / 32, 1));
  OK(cudaMemcpyToSymbol(&factor, &twice, 4, 0, 1));
  TRUE(__cudaInitModule(handle));
  TRUE(*added == 5);
  *added = 8;
  __cudaPushCallConfiguration(one, block, 0, 0);
  reverse(device);
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpyAsync_ptsz(result, device, BYTES, 2, 0));
  for (int i = 0; i < N; i++) TRUE(result[i] == 2 * host[N - 1 - i] + 8);
  twice = 0;
  OK(cudaMemcpyFromSymbol(&twice, &factor, 4, 0, 2));
  TRUE(twice == 2);
  OK(cudaMallocManaged((void **)&managed, BYTES, 1));
  memcpy(managed, host, BYTES);
  __cudaPushCallConfiguration(one, block, 0, 0);
  reverse(managed);
  OK(cudaDeviceSynchronize());
  for (int i = 0; i < N; i++) TRUE(managed[i] == result[i]);

  void *arguments[] = {&device};
  OK(cudaLaunchCooperativeKernel((const void *)reverse, one, block, arguments, 0, 0));
  OK(cudaFuncGetAttributes(attributes, (const void *)reverse));
  TRUE(attributes[0] == BYTES && (attributes[3] & 0xffffffff) == 1024);
  OK(cudaFuncSetAttribute((const void *)reverse, 8, 100 << 10));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, (const void *)reverse, 1024, 0));
  TRUE(value == 2);
  OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, 0, &value));
  TRUE(function);
  TRUE(cudaFuncGetAttributes(attributes, main) == 98 && cudaPeekAtLastError() == 98 && cudaGetLastError() == 98);
  TRUE(cudaGetLastError() == 0);
  TRUE(!strcmp(cudaGetErrorName(98), "cudaErrorInvalidDeviceFunction"));
  TRUE(!strcmp(cudaGetErrorString(0), "no error"));
  OK(cudaFree(managed));
  OK(cudaFree(device));
  OK(cudaFree(NULL));
  __cudaUnregisterFatBinary(handle);
  puts("right");
  return 5;
}
