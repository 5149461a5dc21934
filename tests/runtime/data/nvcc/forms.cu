// Kernels compiled with `nvcc -ptx -arch=sm_90 forms.cu`: wmma, a cooperative grid, the device heap, printf.
#include <cooperative_groups.h>
#include <mma.h>
#include <stdio.h>
#include <stdint.h>

using namespace nvcuda;
namespace cg = cooperative_groups;

__constant__ float scale;
__device__ unsigned launches;

// f16 times f16 with f32 sums, tile by tile, scaled in place and converted to f16 element by element as programs do
extern "C" __global__ void tiles(const half *a, const half *b, half *c, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> out;
  int row = 16 * (threadIdx.x / 32), n = 16 * gridDim.x;
  wmma::fill_fragment(sum, 0.0f);
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(fa, a + row * k + i, k);
    wmma::load_matrix_sync(fb, b + 16 * blockIdx.x * k + i, k);
    wmma::mma_sync(sum, fa, fb, sum);
  }
  wmma::load_matrix_sync(out, c + row * n + 16 * blockIdx.x, n, wmma::mem_row_major);
  for (int i = 0; i < sum.num_elements; i++) out.x[i] = __float2half(scale * sum.x[i] + __half2float(out.x[i]));
  wmma::store_matrix_sync(c + row * n + 16 * blockIdx.x, out, n, wmma::mem_row_major);
}

// integers through shared memory
extern "C" __global__ void bytes(const signed char *a, const signed char *b, int *c) {
  __shared__ int tile[32 * 8];
  wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::col_major> fa;
  wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 32, 8, 16, int> sum;
  wmma::fill_fragment(sum, 3);
  wmma::load_matrix_sync(fa, a, 32);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(sum, fa, fb, sum);
  wmma::store_matrix_sync(tile, sum, 8, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < 32 * 8; i += blockDim.x) c[i] = tile[i];
}

// running sums of x by passes over the whole grid: pass s reads what pass s - 1 of other CTAs wrote
extern "C" __global__ void scan(int *x, int *y, int n) {
  cg::grid_group grid = cg::this_grid();
  int i = grid.thread_rank();
  if (i == 0) launches++;
  for (int s = 1; s < n; s *= 2) {
    if (i < n) y[i] = x[i] + (i >= s ? x[i - s] : 0);
    grid.sync();
    int *t = x; x = y; y = t;
  }
}

struct Node { Node *next; int value; };

// a list in the heap for each thread; `keep` takes one over to the next launch, which sums and frees it
extern "C" __global__ void build(Node **keep, int n) {
  Node *head = nullptr;
  int t = threadIdx.x;
  for (int i = 0; i < n + t % 3; i++) {
    Node *node = (Node *)malloc(sizeof(Node));
    node->next = head; node->value = i * (t + 1);
    head = node;
    if (i % 4 == 3) { Node *gone = head; head = head->next; free(gone); }
  }
  keep[t] = head;
}

extern "C" __global__ void reap(Node **keep, int *sums) {
  int t = threadIdx.x, sum = 0;
  for (Node *node = keep[t]; node;) { sum += node->value; Node *gone = node; node = node->next; free(gone); }
  sums[t] = sum;
}

extern "C" __global__ void huge(unsigned long long *out, unsigned long long size) {
  char *one = (char *)malloc(size), *two = new char[size];
  out[0] = one != nullptr; out[1] = two != nullptr;
  free(one); delete[] two;
  char *three = (char *)malloc(size);
  out[2] = three != nullptr;
  free(three);
}

extern "C" __global__ void print(const char *name, double x, long long n, int width, int precision) {
  printf("%s: %a %.3e %g|%*.*f|%-8lld|%#llx %c %p %%\n", name, x, x, x, width, precision, x, n, n, 'a' + threadIdx.x, (void *)0);
}
