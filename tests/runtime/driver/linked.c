/* A function of the runtime that is part of the program, as with nvcc's default -cudart static. */
#include <stdio.h>

__attribute__((noinline)) int cudaGetDeviceCount(int *count) {
  for (int i = 0; i < 7; i++) *count = *count * 3 + i;
  return 35; /* cudaErrorInsufficientDriver */
}

int main(void) {
  int count = 1, status = cudaGetDeviceCount(&count);
  printf("%d %d\n", status, count);
  return 0;
}
