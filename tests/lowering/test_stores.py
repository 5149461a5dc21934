"""Stores through shared memory: hand-made placed kernels through scheduling to PTX, on the simulator with hazards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ir.core import Block, Builder, Region, Value, verify
from ir.dialects import arith, nv_tileas, scf
from ir.types import (
    BF16,
    F8E4M3FN,
    F16,
    F32,
    GLOBAL_PTR,
    I8,
    I16,
    I32,
    TF32,
    PartitionViewType,
    TensorType,
    TensorViewType,
    Type,
)
from lowering import ptx
from lowering.atoms.mma import MMA_ATOMS
from lowering.convert import nvgpu_to_nvvm, tileas_to_nvgpu
from lowering.layouts.anchors import coalesced
from lowering.layouts.boxes import memory_order, swizzle_row
from lowering.layouts.elements import element_bytes
from lowering.layouts.layout import Layout, LayoutError
from lowering.layouts.mma import mma_tile
from lowering.layouts.shared import SharedLayout, swizzled
from lowering.schedule import schedule
from lowering.targets import target
from ptxsim import GlobalMemory, SimulatorError, launch
from runtime.ptxas import assemble
from tilesat.execution import launch_arguments

WARPS = 4
DTYPES: dict[Type, Any] = {
    F16: np.float16, BF16: ml_dtypes.bfloat16, F32: np.float32, F8E4M3FN: ml_dtypes.float8_e4m3fn, I8: np.int8,
    I16: np.int16, I32: np.int32,
}  # fmt: skip
OPERAND: dict[Type, Type] = {F8E4M3FN: F8E4M3FN, F32: TF32}


@dataclass(frozen=True)
class Copy:
    """A kernel that loads a tile into `layout` and stores it through `shared`, block by block of a grid.

    `times`: the block's tile and the next ones along dimension 0, in a loop; `twice`: also to a second array.
    `converted`: stored from registers in a coalesced layout.
    """

    tile: tuple[int, ...] = (32, 64)
    element: Type = F16
    size: tuple[int, ...] = (100, 72)
    atom: str = "st.shared"
    fragment: str = ""
    swizzle: int = -1
    contiguous: int = -1
    times: int = 1
    twice: bool = False
    ordered: bool = False
    converted: bool = False

    @property
    def layout(self) -> Layout:
        atom = next(a for a in MMA_ATOMS if a.dtypes[0] == OPERAND.get(self.element, F16) and a.threads == 32)
        if self.fragment == "accumulator":
            return mma_tile(atom, *self.tile, atom.shape[2], 2, 2).c
        if self.fragment == "operand":
            return mma_tile(atom, self.tile[0], 8, self.tile[1], WARPS, 1).a
        return coalesced(self.tile, self.dim, element_bytes(self.element), WARPS)

    @property
    def dim(self) -> int:
        return self.contiguous % len(self.tile)

    @property
    def shared(self) -> SharedLayout:
        size = element_bytes(self.element)
        row = swizzle_row(self.tile, self.dim, size) if self.swizzle < 0 else self.swizzle
        return swizzled(self.tile, memory_order(self.tile, self.dim), size, row)

    def view(self) -> PartitionViewType:
        rank = len(self.tile)
        strides = tuple(1 if d == self.dim else None for d in range(rank))
        array = TensorViewType((None,) * rank, self.element, strides)
        return PartitionViewType(self.tile, array, tuple(range(rank)))

    def build(self) -> nv_tileas.Func:
        rank = len(self.tile)
        arrays = 3 if self.twice else 2
        entry = Block([GLOBAL_PTR] * arrays + [I32] * (2 * rank - 1))
        b, numbers = Builder(entry), list(entry.args[arrays:])
        sizes, strides = numbers[:rank], numbers[rank:]
        views: list[Value] = []
        for base in entry.args[:arrays]:
            memref = b.add(
                nv_tileas.MakeMemref, base, *sizes, *strides, types=[self.view().view], segments=(1, rank, rank - 1)
            )
            views.append(b.value(nv_tileas.Partition, memref.result, types=[self.view()]))
        index = [b.value(nv_tileas.ProgramId, types=[I32], axis=d) for d in range(min(rank, 3))]
        index += [b.value(arith.Constant, types=[I32], value=0) for _ in range(3, rank)]
        if self.times == 1:
            self.body(b, views, index)
        else:
            lower, upper, step = (b.value(arith.Constant, types=[I32], value=n) for n in (0, self.times, 1))
            inner = Block([I32])
            inside = Builder(inner)
            row = inside.value(arith.AddI, inside.value(arith.MulI, index[0], upper), inner.args[0])
            self.body(inside, views, [row, *index[1:]])
            inside.add(scf.Yield, types=())
            b.add(scf.For, lower, upper, step, types=[], segments=(1, 1, 1, 0), regions=[Region([inner])])
        b.add(nv_tileas.Return, types=())
        attributes = {"sym_name": "copy", "target": "sm_90a", "warps": WARPS}
        return nv_tileas.Func((), (), attributes, [Region([entry])])

    def body(self, b: Builder, views: Sequence[Value], index: Sequence[Value]) -> None:
        source, *targets = views
        kind = TensorType(self.tile, self.element, self.layout)
        size = element_bytes(self.element)
        value = b.value(nv_tileas.TiledLoad, source, *index, types=[kind], bytes=size)
        if self.converted:
            whole = TensorType(self.tile, self.element, coalesced(self.tile, self.dim, size, WARPS))
            value = b.value(nv_tileas.ConvertLayout, value, types=[whole])
            b.add(nv_tileas.TiledStore, value, targets[0], *index, types=(), bytes=size)
            return
        for view in targets:
            b.add(
                nv_tileas.StagedStore, value, view, *index, types=(), shared=self.shared, atom=self.atom, bytes=size,
                ordered=self.ordered,
            )  # fmt: skip

    def compile(self, tier: str = "sm_90a") -> tuple[str, dict[str, Any]]:
        """PTX and manifest."""
        made = self.build()
        made.attributes["target"] = tier
        verify(made)
        scheduled = schedule(made, target(tier))
        verify(scheduled)
        threads = tileas_to_nvgpu.expand(scheduled, target(tier))
        verify(threads)
        pointers = 3 if self.twice else 2
        params: list[dict[str, Any]] = [{"kind": "pointer", "arg": i} for i in range(pointers)]
        params += [{"kind": "scalar", "arg": pointers + i} for i in range(2 * len(self.tile) - 1)]
        manifest = {
            "block": threads.block, "dynamic_smem": threads.dynamic_smem,
            "params": [*params, *scheduled.tensormaps],
        }  # fmt: skip
        return ptx.emit(nvgpu_to_nvvm.convert(threads)), manifest

    def run(self, text: str, manifest: dict[str, Any]) -> None:
        """Simulate with hazards: inside the arrays a copy, outside nothing changes."""
        rng = np.random.default_rng(3)
        order = memory_order(self.tile, self.dim)  # fastest first
        pitch = [self.size[d] for d in order]
        grain = 16 // element_bytes(self.element)
        pitch[0] = -(-pitch[0] // grain) * grain + grain
        source, *others = (self.random(rng, pitch[::-1]) for _ in range(3 if self.twice else 2))
        steps = dict(zip(order, np.cumprod([1, *pitch[:-1]]), strict=True))
        strides = [steps[d] for d in range(len(self.tile)) if d != self.dim]
        arguments: list[Any] = [source, *others, *(np.int32(n) for n in (*self.size, *strides))]
        memory = GlobalMemory()
        places = {id(a): memory.put(a) for a in arguments[: 1 + len(others)]}
        tiles = [-(-n // t) for n, t in zip(self.size, self.tile, strict=True)]
        tiles[0] = -(-tiles[0] // self.times)
        grid = (*tiles, 1, 1)[:3]
        launch(
            text, grid=grid, block=manifest["block"], args=launch_arguments(manifest, arguments, places, memory),
            memory=memory, dynamic_smem=manifest["dynamic_smem"], hazards=True,
        )  # fmt: skip
        inside = tuple(slice(self.size[d]) for d in reversed(order))
        for other in others:
            expected = other.copy()
            expected[inside] = source[inside]
            found = memory.get(places[id(other)], other.shape, other.dtype)
            assert np.array_equal(found.view(np.uint8), expected.view(np.uint8))

    def random(self, rng: np.random.Generator, shape: list[int]) -> Any:
        """Numbers that every type holds."""
        return rng.integers(-8, 8, shape).astype(DTYPES[self.element])


CASES = {
    "f16": Copy(),
    "bf16": Copy(element=BF16),
    "f32": Copy(element=F32),
    "i8": Copy(element=I8, tile=(64, 128), size=(100, 200)),
    "f8": Copy(element=F8E4M3FN, tile=(64, 128), size=(100, 200)),
    "two panels": Copy(tile=(32, 128), size=(40, 200)),
    "swizzle of 64": Copy(tile=(64, 32)),
    "swizzle of 32": Copy(tile=(64, 16), size=(70, 40)),
    "no swizzle": Copy(swizzle=0),
    "columns in memory": Copy(contiguous=0, size=(100, 70)),
    "fragments of f32": Copy(element=F32, fragment="accumulator"),
    "stmatrix": Copy(atom="stmatrix", fragment="accumulator"),
    "stmatrix of bf16": Copy(atom="stmatrix", fragment="accumulator", element=BF16, tile=(64, 128), size=(70, 136)),
    "stmatrix transposed": Copy(atom="stmatrix", fragment="accumulator", contiguous=0, size=(96, 70)),
    "stmatrix of f8": Copy(atom="stmatrix", fragment="operand", element=F8E4M3FN, tile=(64, 128), size=(70, 208)),
    "stmatrix of i16": Copy(atom="stmatrix", fragment="accumulator", element=I16, tile=(64, 64), size=(70, 80)),
    "stmatrix of f32": Copy(atom="stmatrix", fragment="operand", element=F32, tile=(64, 32), size=(70, 40)),
    "rank 1": Copy(tile=(2048,), size=(5000,)),
    "rank 1 without swizzle": Copy(tile=(1024,), size=(2500,), swizzle=0, element=F32),
    "rank 3": Copy(tile=(2, 16, 64), size=(3, 40, 72)),
    "rank 4": Copy(tile=(2, 2, 8, 64), size=(3, 5, 20, 60)),
    "rank 5": Copy(tile=(1, 2, 2, 8, 64), size=(1, 4, 3, 6, 60)),
    "loop": Copy(times=3, size=(200, 72)),
    "two stores": Copy(twice=True),
    "two stores in a loop": Copy(twice=True, times=2, atom="stmatrix", fragment="accumulator"),
    "after an access": Copy(ordered=True),
}


@pytest.mark.in_turn
@pytest.mark.parametrize("name", CASES)
def test_tile_reaches_the_array(name: str) -> None:
    """Every element inside the array, none outside, and no hazard."""
    text, manifest = CASES[name].compile()
    assert "cp.async.bulk.tensor" in text
    assert "st.global" not in text
    assert ("stmatrix" in text) == (CASES[name].atom == "stmatrix")
    CASES[name].run(text, manifest)


@pytest.mark.parametrize("name", ["f16", "stmatrix", "stmatrix of bf16", "two stores in a loop", "rank 5"])
@pytest.mark.parametrize("tier", ["sm_90a", "sm_100a", "sm_120a"])
def test_ptxas_takes_it(name: str, tier: str) -> None:
    text, _ = CASES[name].compile(tier)
    made = assemble(text, tier)
    assert made.spill_stores == made.spill_loads == 0
    assert not made.infos


MUTATIONS = {
    "no fence": (r"fence\.proxy\.async\S*;", "", {}),
    "no barrier behind the writes": (r"(fence\.proxy\.async\S*;\s*)bar\.sync[^;]*;", r"\1", {}),
    "no wait before the exit": (r"cp\.async\.bulk\.wait_group\.read 0;(?=\s*ret)", "", {}),
    "no group": (r"cp\.async\.bulk\.commit_group;", "", {}),
    "no wait before the buffer is used again": (r"cp\.async\.bulk\.wait_group\.read 0;(?=[^r]*bar)", "", {"times": 2}),
    "no barrier before the buffer is used again": (r"(wait_group\.read 0;\s*)bar\.sync[^;]*;", r"\1", {"times": 2}),
    "a box in the wrong place": (r"(\[%r\d+)\+4096\];", r"\1+2048];", {"tile": (32, 128)}),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutations_are_caught(name: str) -> None:
    pattern, text, changes = MUTATIONS[name]
    case = replace(Copy(atom="stmatrix", fragment="accumulator", size=(120, 136)), **changes)
    made, manifest = case.compile()
    case.run(made, manifest)
    changed, count = re.subn(pattern, text, made)
    assert count
    with pytest.raises((SimulatorError, AssertionError)):
        case.run(changed, manifest)


def test_fence_covers_global_memory_only_behind_an_access_to_it() -> None:
    assert "fence.proxy.async;" in CASES["after an access"].compile()[0]
    assert "fence.proxy.async.shared::cta;" in CASES["f16"].compile()[0]


def test_array_that_the_host_cannot_describe_is_stored_from_registers() -> None:
    """A base that depends on the block leaves the tile to ordinary stores; the buffer is not needed then."""
    made = CASES["f16"].build()
    ops = made.body.block.ops
    target_memref = [op for op in ops if isinstance(op, nv_tileas.MakeMemref)][1]
    b = Builder(Block())
    zero = b.value(nv_tileas.ProgramId, types=[I32], axis=2)
    moved = b.value(nv_tileas.AddPtr, target_memref.base, zero, types=[GLOBAL_PTR], element_bytes=2)
    ops[:0] = b.block.ops
    for op in ops:
        op.parent = made.body.block
    target_memref.operands[0] = moved
    text = ptx.emit(nvgpu_to_nvvm.convert(tileas_to_nvgpu.expand(schedule(made, target("sm_90a")), target("sm_90a"))))
    assert "cp.async.bulk" not in text
    assert "st.global" in text


def test_layout_that_stmatrix_does_not_take_is_refused() -> None:
    with pytest.raises(LayoutError, match="stmatrix cannot write"):
        Copy(atom="stmatrix").compile()


def test_conversion_writes_its_scratch_by_stmatrix() -> None:
    case = Copy(tile=(32, 16), size=(40, 24), fragment="accumulator", converted=True)
    text, manifest = case.compile()
    assert "stmatrix" in text
    case.run(text, manifest)
    assert "stmatrix" not in case.compile("sm_80")[0]
