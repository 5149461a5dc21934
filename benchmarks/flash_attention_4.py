"""Writes the PTX of FlashAttention-4's forward kernel for sm_100a: head width 128, not causal, f16. Needs no GPU.

Run in an environment with flash-attn-4 and torch: `python flash_attention_4.py OUT.ptx`. Tensors are torch's fakes, and
what the package asks of the device (148 multiprocessors of a B200) is answered here.
"""

import os
import sys
import tempfile
from pathlib import Path

MULTIPROCESSORS = 148
SHAPE = (1, 1024, 8, 128)  # batch, queries, heads, width; only the width is compiled in


def main(output: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(
            FLASH_ATTENTION_FAKE_TENSOR="1",
            FLASH_ATTENTION_ARCH="sm_100",
            FLASH_ATTENTION_NUM_SMS=str(MULTIPROCESSORS),
            CUTE_DSL_ARCH="sm_100a",
            CUTE_DSL_KEEP_PTX="1",
            CUTE_DSL_DUMP_DIR=folder,
        )
        export()
        (found,) = Path(folder).glob("*.ptx")
        output.write_text(found.read_text())


def export() -> None:
    """Compile the kernel; the PTX goes to the dump folder."""
    import cutlass.utils.hardware_info as hardware
    import torch
    from flash_attn.cute import interface
    from torch._subclasses.fake_tensor import FakeTensorMode

    hardware.HardwareInfo.__init__ = lambda self, *_, **__: None
    hardware.HardwareInfo.get_max_active_clusters = lambda self, size=1, *_, **__: MULTIPROCESSORS // size
    hardware.HardwareInfo.get_device_multiprocessor_count = lambda self, *_, **__: MULTIPROCESSORS
    with FakeTensorMode():
        interface._flash_attn_fwd(*(torch.empty(SHAPE, dtype=torch.float16, device="cuda") for _ in range(3)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
