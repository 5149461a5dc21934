"""Writes the PTX of other people's best kernels. Needs no GPU, and imports nothing of ours.

PYTHON packages.py attention TARGET WIDTH full|causal OUT.ptx PYTHON packages.py gemm TARGET OUT.ptx

Attention is FlashAttention-3's on sm_90a, FlashAttention-4's on sm_100a; the GEMM is CUTLASS's persistent one of
128x256 with a cluster of 2x1.

PYTHON is an interpreter whose environment has flash-attn-4 (with what it needs: quack-kernels, nvidia-cutlass-dsl) and
torch. Operands are f16, tensors are torch's fakes, and the packages' queries of the device are answered here.
"""

# Packages of another environment, or of an extra.
# pyright: reportMissingImports=false

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

MULTIPROCESSORS = {"sm_90a": 132, "sm_100a": 148}  # of an H100 SXM, of a B200; NVIDIA's data sheets
BATCH, LENGTH, HEADS = 1, 1024, 8  # of attention; not compiled in


def main(work: str, target: str, *rest: str) -> None:
    *options, output = rest
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(
            FLASH_ATTENTION_FAKE_TENSOR="1",
            FLASH_ATTENTION_ARCH=target.removesuffix("a"),
            FLASH_ATTENTION_NUM_SMS=str(MULTIPROCESSORS[target]),
            QUACK_CACHE_ENABLED="0",
            CUTE_DSL_ARCH=target,
            CUTE_DSL_KEEP_PTX="1",
            CUTE_DSL_DUMP_DIR=folder,
        )
        pretend(MULTIPROCESSORS[target])
        WORKS[work](target, *options)
        (found,) = Path(folder).glob("*.ptx")
        Path(output).write_text(found.read_text())


def pretend(multiprocessors: int) -> None:
    """Answer queries for a device that is not present."""
    import cutlass.utils.hardware_info as hardware

    hardware.HardwareInfo.__init__ = lambda self, *_, **__: None
    hardware.HardwareInfo.get_max_active_clusters = lambda self, size=1, *_, **__: multiprocessors // size
    hardware.HardwareInfo.get_device_multiprocessor_count = lambda self, *_, **__: multiprocessors


def attention(target: str, width: str, mask: str) -> None:
    """FlashAttention's forward kernel for heads of `width`."""
    import torch
    from flash_attn.cute import interface
    from torch._subclasses.fake_tensor import FakeTensorMode

    shape = (BATCH, LENGTH, HEADS, int(width))
    with FakeTensorMode():
        arrays = [torch.empty(shape, dtype=torch.float16, device="cuda") for _ in range(3)]
        interface._flash_attn_fwd(*arrays, causal=mask == "causal")


def gemm(target: str) -> None:
    """The package's kernel itself: cooperative, static persistent; rows of A and of B^T are contiguous."""
    import cutlass
    from quack import gemm as package

    half = cutlass.Float16
    package._compile_gemm.__wrapped__(
        half, half, half, None, "k", "k", "n", None, tile_shape_mn=(128, 256), cluster_shape_mnk=(2, 1, 1),
        pingpong=False, persistent=True, is_dynamic_persistent=False, rowvec_dtype=None, colvec_dtype=None,
        colvec_ndim=0, alpha_mode=0, beta_mode=0, add_to_output=False, concat_layout=(), varlen_m=False,
        varlen_k=False, gather_A=False, use_tma_gather=False, has_batch_idx_permute=False,
        device_capacity=(int(target[3:-2]), int(target[-2])), rounding_mode=0, sr_seed_mode=0, num_warps=None,
    )  # fmt: skip


WORKS: dict[str, Callable[..., None]] = {"attention": attention, "gemm": gemm}

if __name__ == "__main__":
    main(*sys.argv[1:])
