/* A child shares no device memory with its parent: prints what the child gets for the parent's address and for its own,
 * and what the parent gets afterwards. */
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int cuInit(unsigned), cuMemAlloc_v2(uint64_t *, uint64_t), cuMemsetD8_v2(uint64_t, unsigned char, uint64_t);

int main(void) {
  uint64_t held, own;
  int status = 0;
  if (cuInit(0) || cuMemAlloc_v2(&held, 64)) return 1;
  pid_t child = fork();
  if (!child) return cuMemsetD8_v2(held, 1, 64) == 1 ? 2 + (cuMemAlloc_v2(&own, 64) || cuMemsetD8_v2(own, 1, 64)) : 9;
  waitpid(child, &status, 0);
  printf("%d %d %d\n", WEXITSTATUS(status) >= 2, WEXITSTATUS(status) == 2, cuMemsetD8_v2(held, 1, 64));
  return 0;
}
