/* examples/gemm.mlir by the header that `tilesat compile --header` writes; argv[1]: the fat binary. */
#include "gemm.h"

#include <stdio.h>
#include <stdlib.h>

#ifndef SIZES
#define SIZES M = 40, N = 24, K = 72
#endif
enum { SIZES, TILE = 128 };

static CUdeviceptr put(const void *data, size_t size) {
  CUdeviceptr address = 0;
  if (cuMemAlloc(&address, size) || cuMemcpyHtoD(address, data, size)) exit(3);
  return address;
}

int main(int argc, char **argv) {
  static char image[1 << 20];
  static uint16_t a[M][K], b[N][K]; /* halves: 0x3c00 is 1, 0x4000 is 2 */
  static float c[M][N], d[M][N];
  struct tilesat_kernel gemm;
  CUdevice device;
  CUcontext context;
  CUdeviceptr result;
  FILE *file = fopen(argv[argc - 1], "rb");
  if (!file || !fread(image, 1, sizeof image, file)) return 2;
  for (int i = 0; i < M; ++i)
    for (int k = 0; k < K; ++k) a[i][k] = (i + k) % 3 ? 0x3c00 : 0x4000;
  for (int j = 0; j < N; ++j)
    for (int k = 0; k < K; ++k) b[j][k] = (j * k) % 5 ? 0 : 0x3c00;
  for (int i = 0; i < M * N; ++i) c[i / N][i % N] = (float)i;
  if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context))
    return 4;
  if (gemm_load(&gemm, image)) return 5;
  result = put(d, sizeof d);
  if (gemm_launch(&gemm, (M + TILE - 1) / TILE, (N + TILE - 1) / TILE, 1, NULL, put(a, sizeof a), put(b, sizeof b), put(c, sizeof c), result, M, N, K, K, K, N, N))
    return 6;
  if (cuMemcpyDtoH(d, result, sizeof d)) return 7;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float sum = c[i][j];
      for (int k = 0; k < K; ++k) sum += (float)(((i + k) % 3 ? 1 : 2) * ((j * k) % 5 ? 0 : 1));
      if (d[i][j] != sum) return printf("%d %d: %g, not %g\n", i, j, d[i][j], sum), 8;
    }
  printf("right by the code for %s\n", gemm.plan->target);
  return gemm_unload(&gemm);
}
