#include <cstdio>

const int n = 256;

__global__ void reverse(int *data) {
  __shared__ int held[n];
  held[threadIdx.x] = data[threadIdx.x];
#ifndef RACE
  __syncthreads();
#endif
  data[threadIdx.x] = held[n - 1 - threadIdx.x];
}

int main() {
  int host[n], *device;
  for (int i = 0; i < n; i++) host[i] = i;
  cudaMalloc(&device, sizeof host);
  cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
  reverse<<<1, n>>>(device);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  printf("%d %s\n", host[0], cudaGetErrorString(cudaGetLastError()));
  cudaFree(device);
  return host[0] != n - 1;
}
