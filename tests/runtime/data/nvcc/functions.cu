// CUDA kernels around functions: calls, recursion, pointers to functions, local memory, printf, assertions, doubles.
// Compiled with: nvcc -ptx -arch=sm_80 functions.cu (PyPI: nvidia-cuda-nvcc 13.5.37, nvidia-nvvm, nvidia-cuda-crt, nvidia-cuda-runtime, --no-deps)
#include <cassert>
#include <cstdio>

struct Pair {
    double sum;
    long long count;
    int last;
};

__device__ __noinline__ float weigh(float x, int power, float* scratch) {
    float value = 1.0f;
    for (int i = 0; i < power; ++i) value *= x;
    *scratch += value;
    return value + 0.5f;
}

__device__ __noinline__ Pair add(Pair total, double x, int i) {
    total.sum += x;
    total.count += i % 3 == 0;
    total.last = i;
    return total;
}

// One call from both sides of a branch, nested calls, a struct by value, a pointer to a local variable.
extern "C" __global__ void nested(const float* x, float* out, double* sums, long long* counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float scratch = 0.0f;
    float value = i % 5 < 2 ? weigh(x[i], i % 4, &scratch) : weigh(weigh(x[i], 2, &scratch), 1, &scratch) * 2.0f;
    Pair total = {0.25, 0, -1};
    for (int j = 0; j < i % 7; ++j) total = add(total, x[(i + j) % n], j);
    out[i] = value + scratch;
    sums[i] = total.sum + total.last;
    counts[i] = total.count;
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ __noinline__ int is_even(unsigned n);
__device__ __noinline__ int is_odd(unsigned n) { return n == 0 ? 0 : is_even(n - 1); }
__device__ __noinline__ int is_even(unsigned n) { return n == 0 ? 1 : is_odd(n - 1); }

// A recursive function that passes the address of its own local array down.
__device__ __noinline__ int deepest(const int* above, int depth, int limit) {
    int mine[4];
    for (int j = 0; j < 4; ++j) mine[j] = (above ? above[j] : 0) + depth * (j + 1);
    int below = depth < limit ? deepest(mine, depth + 1, limit) : 0;
    return below + mine[depth & 3];
}

extern "C" __global__ void recursive(const int* n, int* out, int* parity, int* depths) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = fibonacci(n[i]);
    parity[i] = is_even(n[i]) * 10 + is_odd(n[i] + 1);
    depths[i] = deepest(nullptr, 0, n[i] % 6);
}

typedef int (*Operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ __noinline__ int shifted(int a, int b) { return (a << 3) ^ plus(b, 7); }
__device__ Operation table[3] = {plus, times, shifted};

struct Shape {
    __device__ virtual double area() const = 0;
};
struct Square : Shape {
    double side;
    __device__ explicit Square(double s) : side(s) {}
    __device__ double area() const override { return side * side; }
};
struct Circle : Shape {
    double radius;
    __device__ explicit Circle(double r) : radius(r) {}
    __device__ double area() const override { return 3.0 * radius * radius; }
};

// Calls through pointers: a table in global memory, and virtual functions.
extern "C" __global__ void pointers(const int* a, const int* b, const int* which, int* out, double* areas, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = table[which[i]](a[i], b[i]);
    Square square(0.5 + (a[i] & 15));
    Circle circle(0.25 + (b[i] & 15));
    const Shape* shape = which[i] == 1 ? static_cast<const Shape*>(&square) : &circle;
    areas[i] = shape->area();
}

// printf with every kind of argument.
extern "C" __global__ void prints(const int* x, const char* name) {
    int i = threadIdx.x;
    if (x[i] % 3 == 0) printf("thread %d: %5.2f|%-6d|%#x|%s|%c|%lld|%%|%u\n", i, x[i] * 0.5, x[i], x[i], "text",
                              'a' + i % 26, (long long)x[i] << 33, x[i]);
    if (i == 4) printf("%s ends\n", name);
}

extern "C" __global__ void asserts(const int* x) {
    assert(x[threadIdx.x] < 100);
}

extern "C" __global__ void traps(const int* x) {
    if (x[threadIdx.x] > 100) __trap();
}

// Local memory: an insertion sort of an array that cannot stay in registers, and a histogram of bytes.
extern "C" __global__ void sorts(const int* x, int* out, unsigned char* common) {
    int values[24];
    unsigned char counts[64];
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < 64; ++j) counts[j] = 0;
    for (int j = 0; j < 24; ++j) {
        int value = x[row * 24 + j];
        counts[value & 63]++;
        int k = j;
        while (k > 0 && values[k - 1] > value) {
            values[k] = values[k - 1];
            --k;
        }
        values[k] = value;
    }
    unsigned char best = 0;
    for (int j = 0; j < 64; ++j) best = counts[j] > best ? counts[j] : best;
    for (int j = 0; j < 24; ++j) out[row * 24 + j] = values[j];
    common[row] = best;
}

// A dense switch, which becomes a branch table.
extern "C" __global__ void machine(const unsigned char* code, const int* start, long long* out, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    long long value = start[i];
    for (int s = 0; s < steps; ++s) {
        switch (code[(i + s * 5) % 97]) {
            case 0: value += 11; break;
            case 1: value = value * 3 - s; break;
            case 2: value ^= value >> 7; break;
            case 3: value = -value; break;
            case 4: value <<= 2; break;
            case 5: value /= 5; break;
            case 6: value %= 1000003; break;
            case 7: value |= 1ll << (s & 31); break;
            case 8: value = __popcll(value) + value; break;
            case 9: return;
            default: value = __brevll(value) >> 20; break;
        }
        out[i] = value;
    }
}

// Double precision: directed rounding, fused products, conversions, elementary functions.
extern "C" __global__ void doubles(const double* a, const double* b, double* out, long long* whole, float* narrow, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double* row = out + i * 10;
    row[0] = __dadd_rd(a[i], b[i]);
    row[1] = __dmul_ru(a[i], b[i]);
    row[2] = __fma_rz(a[i], b[i], 1.0);
    row[3] = __ddiv_rn(a[i], b[i]);
    row[4] = __dsqrt_rd(fabs(a[i]));
    row[5] = sin(a[i]) * cos(b[i]);
    row[6] = log(fabs(a[i]) + 1.0) + cbrt(b[i]);
    row[7] = atan2(a[i], b[i]);
    row[8] = floor(a[i]) + ceil(b[i]) + rint(a[i] * b[i]);
    row[9] = fmod(a[i], b[i]);
    whole[i] = __double2ll_rn(a[i] * 1.0e6);
    narrow[i] = __double2float_ru(a[i]);
}

// Atomics of every width, compare and swap loops, and counters that wrap.
extern "C" __global__ void atomics(const int* x, unsigned long long* sum, double* total, unsigned* ring, int* extremes,
                                   float* largest, unsigned* bits, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(sum, (unsigned long long)(x[i] & 0xffff));
    atomicAdd(total, 0.5 * x[i]);
    atomicInc(ring, 12);
    atomicMax(extremes, x[i]);
    atomicMin(extremes + 1, x[i]);
    atomicXor(bits, 1u << (x[i] & 31));
    atomicOr(bits + 1, x[i]);
    float mine = x[i] * 0.25f;
    int* raw = (int*)largest;
    int seen = *raw;
    while (__int_as_float(seen) < mine) {
        int before = atomicCAS(raw, seen, __float_as_int(mine));
        if (before == seen) break;
        seen = before;
    }
}

// Whole-warp work: a bitonic sort through shuffles, segmented sums, matching, reductions.
extern "C" __global__ void warps(const unsigned* x, unsigned* sorted, unsigned* sums, unsigned* groups, unsigned* mixed) {
    unsigned lane = threadIdx.x & 31;
    unsigned value = x[threadIdx.x];
    unsigned key = value;
    for (unsigned size = 2; size <= 32; size *= 2)
        for (unsigned stride = size / 2; stride; stride /= 2) {
            unsigned other = __shfl_xor_sync(0xffffffff, key, stride);
            bool up = (lane & size) == 0, low = (lane & stride) == 0;
            key = (up == low) == (key < other) ? key : other;
        }
    sorted[threadIdx.x] = key;
    unsigned sum = value & 0xff;
    for (unsigned d = 1; d < 32; d *= 2) {
        unsigned before = __shfl_up_sync(0xffffffff, sum, d, 16);
        if ((lane & 15) >= d) sum += before;
    }
    sums[threadIdx.x] = sum;
    groups[threadIdx.x] = __match_any_sync(0xffffffff, value & 7);
    unsigned mask = __ballot_sync(0xffffffff, value & 1);
    unsigned result = 0;
    if (value & 1) result = __reduce_max_sync(mask, value) ^ __reduce_add_sync(mask, value) ^ __reduce_or_sync(mask, value);
    mixed[threadIdx.x] = result + __popc(mask & ((1u << lane) - 1));
}

// 128-bit sums by carries, byte permutations and dot products.
extern "C" __global__ void wide(const unsigned long long* a, const unsigned long long* b, unsigned long long* out,
                                int* dots, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned __int128 x = ((unsigned __int128)a[2 * i + 1] << 64) | a[2 * i];
    unsigned __int128 y = ((unsigned __int128)b[2 * i + 1] << 64) | b[2 * i];
    unsigned __int128 sum = x + y, product = x * y, shifted = (x >> 37) - (y << 11);
    unsigned __int128 quotient = x / (y >> 60 | 1);
    out[8 * i] = sum; out[8 * i + 1] = sum >> 64;
    out[8 * i + 2] = product; out[8 * i + 3] = product >> 64;
    out[8 * i + 4] = shifted; out[8 * i + 5] = shifted >> 64;
    out[8 * i + 6] = quotient; out[8 * i + 7] = quotient >> 64;
    dots[i] = __dp4a((int)a[2 * i], (int)b[2 * i], 7) + __dp2a_lo((int)a[2 * i], (int)b[2 * i], -3)
              + (int)__byte_perm((unsigned)a[2 * i], (unsigned)b[2 * i], 0x5270) + __funnelshift_l(1u + i, i, i & 31)
              + __ffsll(a[2 * i]) + __clz(i);
}
