"""Run by `tilesat sanitize`: Triton on tensors of a PyTorch without a GPU. With an argument it writes out of bounds."""

import sys

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.autotune([triton.Config({"block": size}) for size in (128, 256)], key=["size"])
@triton.jit
def add(x, y, result, size, beyond: tl.constexpr, block: tl.constexpr):
    offsets = tl.program_id(0) * block + tl.arange(0, block)
    mask = offsets < size
    values = tl.load(x + offsets, mask) + tl.load(y + offsets, mask)
    tl.store(result + offsets, values, mask | (offsets < beyond))


size = 1000
x = torch.rand(size, device=DEVICE)
y = torch.rand(2 * size, device="cuda")[size:]
result = torch.empty_like(x)
assert x.device == DEVICE
assert x.is_cuda
assert torch.cuda.get_device_properties(DEVICE).multi_processor_count == 8
add[lambda meta: (triton.cdiv(size, meta["block"]),)](x, y, result, size, len(sys.argv) > 1 and size + 1)
assert torch.equal(result, x + y)
print("right")
