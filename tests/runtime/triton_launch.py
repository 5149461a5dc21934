"""Launches the committed PTX of the Triton kernels as Triton's own launcher would."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ptxsim import GlobalMemory, Report, TensorMap, launch

DATA = Path(__file__).parent / "data" / "triton"
METADATA: dict[str, Any] = json.loads((DATA / "metadata.json").read_text())["kernels"]
_SWIZZLES = ("none", "32B", "64B", "128B")  # of the metadata's `swizzle`, as in tensormap.replace


@cache
def ptx_of(name: str) -> str:
    """The PTX of `kernel.sm_NN`."""
    return gzip.decompress((DATA / f"{name}.ptx.gz").read_bytes()).decode()


class Described:
    """An array that a kernel receives as a tensor descriptor; block: the box it loads or stores."""

    def __init__(self, array: np.ndarray, block: tuple[int, ...]) -> None:
        self.array = array
        self.block = block


class Launched:
    """One launch: arrays become addresses, and come back by their position. hazards ... workers: for all launches."""

    hazards = False
    schedule = "together"
    most: int | None = None
    workers = 1

    def __init__(self, name: str, grid: tuple[int, ...], *args: object, ptx: str | None = None) -> None:
        self.facts = METADATA[name]
        self.memory = GlobalMemory()
        self.arrays: dict[int, np.ndarray] = {}
        self.addresses: dict[int, int] = {}
        values: list[Any] = []
        descriptors = iter(self.facts["descriptors"])
        for number, argument in enumerate(args):
            if isinstance(argument, Described | np.ndarray):
                array = argument if isinstance(argument, np.ndarray) else argument.array
                self.arrays[number] = array
                self.addresses[number] = self.memory.put(array)
                values += self._pointer(self.addresses[number], argument, descriptors)
            else:
                values.append(argument)
        programs = int(np.prod(grid))
        scratch = self.memory.alloc(max(1, self.facts["global_scratch"] * programs))
        self.report: Report = launch(
            ptx_of(name) if ptx is None else ptx, grid, (self.facts["threads"],), [*values, scratch, 0], self.memory,
            dynamic_smem=self.facts["shared"], hazards=self.hazards, schedule=self.schedule, max_instructions=self.most,
            workers=self.workers,
        )  # fmt: skip

    def _pointer(self, address: int, argument: "np.ndarray | Described", descriptors: Any) -> list[Any]:
        """The parameters that stand for an array; a descriptor also passes shape and strides in elements."""
        if isinstance(argument, np.ndarray):
            return [address]
        array = argument.array
        strides = [stride // array.itemsize for stride in array.strides]
        if not self.facts["descriptors"]:  # pointers below sm_90: also the fill and rounding modes
            return [address, *array.shape, *strides, 0, 0, *array.shape, *strides]
        made = next(descriptors)
        tensor = TensorMap(
            address, array.dtype, array.shape[::-1], array.strides[-2::-1], made["block_size"][::-1],
            swizzle=_SWIZZLES[made["swizzle"]],
        )  # fmt: skip
        return [tensor, *array.shape, *strides]

    def __getitem__(self, position: int) -> np.ndarray:
        array = self.arrays[position]
        return self.memory.get(self.addresses[position], array.shape, array.dtype)
