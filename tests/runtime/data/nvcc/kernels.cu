// Kernels compiled with `nvcc -ptx -arch=sm_80 kernels.cu`, a source of PTX that no compiler of this project wrote.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <stdint.h>

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// row softmax, one block a row, warp shuffles and shared memory
extern "C" __global__ void softmax(const float *x, float *y, int columns) {
  __shared__ float partial[32];
  const float *row = x + (size_t)blockIdx.x * columns;
  float best = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) best = fmaxf(best, row[i]);
  for (int s = 16; s; s >>= 1) best = fmaxf(best, __shfl_xor_sync(~0u, best, s));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = best;
  __syncthreads();
  best = partial[0];
  for (int w = 1; w < blockDim.x / 32; w++) best = fmaxf(best, partial[w]);
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += __expf(row[i] - best);
  for (int s = 16; s; s >>= 1) sum += __shfl_down_sync(~0u, sum, s);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < blockDim.x / 32; w++) sum += partial[w];
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    y[(size_t)blockIdx.x * columns + i] = __expf(row[i] - best) / sum;
}

// tiled GEMM with dynamic shared memory and bounds checks
extern "C" __global__ void tiled(const float *a, const float *b, float *c, int m, int n, int k) {
  extern __shared__ float tile[];
  float *ta = tile, *tb = tile + 256;
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < k; t += 16) {
    ta[threadIdx.y * 16 + threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0.f;
    tb[threadIdx.y * 16 + threadIdx.x] = column < n && t + threadIdx.y < k ? b[(t + threadIdx.y) * n + column] : 0.f;
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += ta[threadIdx.y * 16 + i] * tb[i * 16 + threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

extern "C" __global__ void histogram(const unsigned char *data, int n, unsigned *bins) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[data[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) if (local[i]) atomicAdd(&bins[i], local[i]);
}

// divergent loops of data-dependent length
extern "C" __global__ void collatz(const unsigned long long *x, unsigned *steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long v = x[i];
  unsigned count = 0;
  while (v != 1 && count < 1000) { v = v % 2 ? 3 * v + 1 : v / 2; count++; }
  steps[i] = count;
}

__constant__ float table[8] = {0.5f, 1.5f, -2.f, 3.25f, 4.f, -5.f, 6.5f, 7.f};
__device__ int offsets[4] = {10, 20, 30, 40};

extern "C" __global__ void dispatch(const int *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = table[x[i] & 7];
  switch (x[i] & 7) {
    case 0: v = v * v + i; break;
    case 1: v = sqrtf(v); break;
    case 2: v = v / (i + 1); break;
    case 3: v = floorf(v) + offsets[i & 3]; break;
    case 4: v = fminf(v, (float)i); break;
    case 5: v = fabsf(v) * 3; break;
    case 6: v = (float)((int)v << (i & 7)); break;
    default: v = __int_as_float(__float_as_int(v) ^ 0x400000); break;
  }
  y[i] = v;
}

// private arrays in local memory, generic addressing
extern "C" __global__ void permute(const float *x, const int *index, float *y) {
  float values[16];
  __shared__ float spare[64];
  int i = threadIdx.x;
  for (int j = 0; j < 16; j++) values[(j * 7 + i) & 15] = x[i * 16 + j];
  spare[i & 63] = x[i];
  __syncthreads();
  const float *from = (index[i] & 16) ? spare : values;
  y[i] = from[index[i] & 15] ;
}

extern "C" __global__ void halves(const __half2 *a, const __half2 *b, __half2 *c, const __nv_bfloat16 *d, float *e, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 v = __hfma2(a[i], b[i], __hadd2(a[i], b[i]));
  v = __hmax2(v, __hmul2(a[i], a[i]));
  c[i] = v;
  float f = __bfloat162float(d[i]);
  e[i] = __bfloat162float(__float2bfloat16(f * f + __half2float(__low2half(v))));
}

extern "C" __global__ void integers(const long long *a, const long long *b, long long *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long x = a[i], y = b[i];
  c[5 * i] = x / y;
  c[5 * i + 1] = x % y;
  c[5 * i + 2] = __mul64hi(x, y);
  c[5 * i + 3] = (int)x / (int)(y | 1) + (unsigned)x % (unsigned)(y | 1);
  c[5 * i + 4] = __popcll(x) + __clzll(y) + __brev((unsigned)x) + __funnelshift_l((unsigned)x, (unsigned)y, 13) + __byte_perm((unsigned)x, (unsigned)y, 0x6241);
}

extern "C" __global__ void doubles(const double *a, const double *b, double *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  c[i] = sqrt(a[i] * a[i] + 1.0) / b[i] + exp(-fabs(a[i]));
}

extern "C" __global__ void votes(const int *x, unsigned *out, int n) {
  int i = threadIdx.x;
  int v = x[i];
  unsigned m = __activemask();
  out[i * 8] = __ballot_sync(~0u, v > 0);
  out[i * 8 + 1] = __any_sync(~0u, v > 90) + 2 * __all_sync(~0u, v > -90);
  out[i * 8 + 2] = __match_any_sync(~0u, v & 3);
  out[i * 8 + 3] = __reduce_add_sync(~0u, v);
  out[i * 8 + 4] = __syncthreads_count(v > 10);
  out[i * 8 + 5] = __syncthreads_or(v == 17) + 2 * __syncthreads_and(v < 1000);
  if (v & 1) m = __ballot_sync(__activemask(), v & 2);
  out[i * 8 + 6] = m;
  out[i * 8 + 7] = __shfl_up_sync(~0u, v, 3, 8) + __shfl_sync(~0u, v, i * 5, 16);
}

// a last-block reduction: fences and a global counter
__device__ unsigned ticket = 0;
extern "C" __global__ void lastblock(const float *x, float *partial, float *out, int n) {
  __shared__ float s[128];
  __shared__ bool last;
  float sum = 0;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) sum += x[i];
  s[threadIdx.x] = sum;
  __syncthreads();
  for (int k = 64; k; k >>= 1) { if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k]; __syncthreads(); }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) { float t = 0; for (int b = 0; b < gridDim.x; b++) t += ((volatile float *)partial)[b]; *out = t; }
}

// spin lock: needs the scheduler to let the holder go on
__device__ int lock = 0;
extern "C" __global__ void locked(int *counter, int rounds) {
  for (int r = 0; r < rounds; r++) {
    bool done = false;
    while (!done) {
      if (atomicCAS(&lock, 0, 1) == 0) { __threadfence(); *(volatile int *)counter += 1; __threadfence(); atomicExch(&lock, 0); done = true; }
    }
  }
}

// f16 GEMM C[m,n] = A[m,k] B[n,k]^T, 64x64 block tile, 4 warps of 32x32, two-stage cp.async, ldmatrix, mma.sync
extern "C" __global__ void __launch_bounds__(128) gemm(const __half *a, const __half *b, float *c, int m, int n, int k) {
  __shared__ __align__(128) __half sa[2][64 * 40];
  __shared__ __align__(128) __half sb[2][64 * 40];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, wm = warp / 2 * 32, wn = warp % 2 * 32;
  int bm = blockIdx.y * 64, bn = blockIdx.x * 64;
  float acc[2][4][4] = {};
  auto load = [&](int stage, int kk) {
    for (int i = threadIdx.x; i < 256; i += 128) {
      int r = i / 4, q = i % 4 * 8;
      __pipeline_memcpy_async(&sa[stage][r * 40 + q], a + (size_t)(bm + r) * k + kk + q, 16);
      __pipeline_memcpy_async(&sb[stage][r * 40 + q], b + (size_t)(bn + r) * k + kk + q, 16);
    }
    __pipeline_commit();
  };
  load(0, 0);
  for (int kk = 0, s = 0; kk < k; kk += 32, s ^= 1) {
    if (kk + 32 < k) { load(s ^ 1, kk + 32); __pipeline_wait_prior(1); } else __pipeline_wait_prior(0);
    __syncthreads();
    for (int x = 0; x < 32; x += 16) {
      unsigned fa[2][4], fb[4][2];
      for (int i = 0; i < 2; i++) {
        unsigned p = __cvta_generic_to_shared(&sa[s][(wm + i * 16 + lane % 16) * 40 + x + lane / 16 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];" : "=r"(fa[i][0]), "=r"(fa[i][1]), "=r"(fa[i][2]), "=r"(fa[i][3]) : "r"(p));
      }
      for (int j = 0; j < 4; j++) {
        unsigned p = __cvta_generic_to_shared(&sb[s][(wn + j * 8 + lane % 8) * 40 + x + lane / 8 % 2 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1},[%2];" : "=r"(fb[j][0]), "=r"(fb[j][1]) : "r"(p));
      }
      for (int i = 0; i < 2; i++) for (int j = 0; j < 4; j++)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
          : "+f"(acc[i][j][0]), "+f"(acc[i][j][1]), "+f"(acc[i][j][2]), "+f"(acc[i][j][3])
          : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]), "r"(fb[j][0]), "r"(fb[j][1]));
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; i++) for (int j = 0; j < 4; j++) for (int e = 0; e < 4; e++)
    c[(size_t)(bm + wm + i * 16 + lane / 4 + e / 2 * 8) * n + bn + wn + j * 8 + lane % 4 * 2 + e % 2] = acc[i][j][e];
}
