"""Block-scaled products in tensor memory: of every type and both kinds of scales, in loops of their own, of an agent
and of clusters; in hazard mode, in skewed orders of warps, and with each part of the protocol changed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import Block, VerifyError, verify
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas, nvvm
from ir.tensor_descriptors import scaled_descriptor
from ir.text.level_input import read_level
from ir.types import F8E4M3FN, F8E8M0FNU, F32, I8, I32, I64
from lowering.atoms.tcgen05 import BY_AGENT, BY_SCALES, scaled_tensor_atoms
from lowering.atoms.tma import PARTS
from lowering.layouts.boxes import boxes
from lowering.layouts.tensor import scale_columns, scale_copies, scale_layout, scale_place
from lowering.passes.manager import run
from lowering.passes.syntax import parse as parse_passes
from lowering.passes.syntax import until
from lowering.passes.table import ROAD
from lowering.schedule import materialize
from lowering.schedule.tensor import TensorScaledError, place_accumulators
from lowering.targets import target
from ptxsim.tcgen05_form import Mode, parse
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.lowering.scaled_products import FORMATS, error, expected, product, program
from tests.lowering.test_clusters import ORDERS
from tests.programs.program import check, read_back, simulate
from tests.programs.test_block_scaled import block_scaled, of_bytes
from tilesat.execution import RESIDENT, largest_error
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel
from tilesat.source import read

ERROR = 2e-3  # sums of numbers that are up to 2^12 times the result, in f32


@cache
def compiled(
    name: str = "mxfp8", blocks: bool = False, target: str = "sm_100a", tile: tuple[int, ...] = (), ctas: int = 1,
    persistent: str = "off", forbid: tuple[str, ...] = (),
) -> Kernel:  # fmt: skip
    kernel = tilesat.compile(
        product(name, tile, blocks), target, num_ctas=ctas, persistent=persistent, forbid=forbid,
        fast=["uscale"] if name.startswith("nvfp4") else [],
    )  # fmt: skip
    assembled = assemble(kernel.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)
    assert f"kind::{FORMATS[name].kind}" in kernel.ptx
    return kernel


def deep(name: str, steps: float) -> int:
    """K of so many steps, a multiple of what 16 bytes hold."""
    form = FORMATS[name]
    unit = 16 * form.in_byte
    return int(form.tile[2] * steps) // unit * unit


@pytest.mark.sampled(80)
@pytest.mark.parametrize("size", [(128, 128, 2), (200, 136, 2.6), (1, 4, 1.2)])
@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("target", ["sm_100a", "sm_103a", "sm_110a"])
@pytest.mark.parametrize("name", FORMATS)
def test_products(name: str, target: str, blocks: bool, size: tuple[int, int, float]) -> None:
    """Tails in each dimension. Scales in rows are copied by threads, four at a time, in blocks by tensor copies."""
    kernel, (m, n, steps) = compiled(name, blocks, target), size
    assert ("cp.async.ca" in kernel.ptx) is not blocks
    k = deep(name, steps)
    assert error(kernel, program(m, n, k, name, (), blocks), name, k) < ERROR


@pytest.mark.sampled(30)
@pytest.mark.parametrize("steps", range(8))
@pytest.mark.parametrize(("name", "blocks"), [("mxfp8", False), ("nvfp4", True)])
def test_any_number_of_steps(name: str, blocks: bool, steps: int) -> None:
    k = deep(name, steps)
    assert error(compiled(name, blocks), program(136, 72, k, name, (), blocks), name, k) < ERROR


@pytest.mark.sampled(30)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("name", "blocks"), [("mxfp8", False), ("mxfp8", True), ("mxfp4", False)])
def test_skewed_orders(name: str, blocks: bool, order: str) -> None:
    k = deep(name, 7)
    assert error(compiled(name, blocks), program(128, 72, k, name, (), blocks), name, k, schedule=order) < ERROR


def test_factors_whose_columns_are_contiguous() -> None:
    """B without a transpose, MN-major; there is no such product of f4."""
    kernel = tilesat.compile(product(straight=True), "sm_100a")
    assert f"kind::{FORMATS['mxfp8'].kind}" in kernel.ptx
    a, b, s, t, d, *sizes = program(136, 144, 272).arguments()
    wanted = expected([a, b, s, t], "mxfp8", 272)
    kernel.run((2, 2), a, np.ascontiguousarray(b.T), s, t, d, *sizes, on="sim")
    assert largest_error(d, wanted) < ERROR


TILES = {
    "mxfp8": [(128, 256, 128), (256, 128, 256), (128, 64, 256)],
    "nvfp4": [(128, 256, 256), (128, 32, 256), (128, 128, 128), (256, 128, 256)],
}  # fmt: skip


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("name", "tile"), [(name, tile) for name, tiles in TILES.items() for tile in tiles], ids=str)
def test_tiles(name: str, tile: tuple[int, int, int]) -> None:
    """Several atoms along m and n, columns of several words of scales, rows that fill less than a block of scales."""
    k = deep(name, 1.6)
    assert error(compiled(name, False, "sm_100a", tile), program(264, 268, k, name, tile), name, k) < ERROR


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", ["together", *ORDERS])
@pytest.mark.parametrize("blocks", [False, True])
def test_an_agent_begins_them(blocks: bool, order: str) -> None:
    """Its scales lie behind the accumulators that it fills in turn."""
    kernel = compiled(blocks=blocks, persistent="static")
    found = [op for op in kernel.compiled.modules["nv_tileas"].walk() if isinstance(op, nv_tileas.AllocTensorMemory)]
    assert [(op.column, op.columns, op.stages) for op in found] == [(0, 512, 2), (256, 512, 1)]
    given = program(272, 72, 400, blocks=blocks)
    assert error(kernel, given, "mxfp8", 400, schedule=order, resident=1) < ERROR


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", ["together", *ORDERS[:2]])
@pytest.mark.parametrize("blocks", [False, True])
def test_clusters(blocks: bool, order: str) -> None:
    """Two CTAs of 128 x 256, with the factors and the scales of B from both where tensor copies bring them."""
    tile = (256, 256, 128)
    kernel = compiled(blocks=blocks, tile=tile, ctas=2)
    assert ".multicast::cluster" in kernel.ptx
    assert error(kernel, program(136, 72, 272, tile=tile, blocks=blocks), "mxfp8", 272, schedule=order) < ERROR


@pytest.mark.in_turn
def test_the_atoms_may_be_forbidden() -> None:
    """All threads then scale the factors in bf16, as before."""
    kernel = compiled()
    other = tilesat.compile(product(), "sm_100a", forbid=[BY_SCALES])
    assert ".block_scale" not in other.ptx
    assert kernel.cost < 0.4 * other.cost
    assert error(other, program(128, 72, 160), "mxfp8", 160) < ERROR


@pytest.mark.slow
def test_slices_whose_rings_do_not_fit_are_scaled_before() -> None:
    """A tile that one CTA cannot hold, at no higher cost than with the atoms forbidden."""
    found, before = (tilesat.compile(product(tile=(256, 256, 128)), "sm_100a", forbid=x) for x in ((), [BY_SCALES]))
    assert found.cost <= before.cost


def test_what_an_agent_may_not_begin_is_scaled_before() -> None:
    kernel = tilesat.compile(product(), "sm_100a", persistent="static", forbid=[BY_AGENT])
    assert ".block_scale" not in kernel.ptx


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("tile", "more"),
    [((128, 128, 64), {}), ((64, 128, 128), {}), ((128, 64, 128), {}), ((128, 128, 128), {"turned": False})],
)
def test_other_scales_are_no_blocks_of_512_bytes(tile: tuple[int, int, int], more: Any) -> None:
    """Two of a row, 64 rows, 256 bytes, those of a column side by side: products of scaled factors, as before."""
    kernel = check(block_scaled(tile, 2, **more), "sm_100a")
    assert ".block_scale" not in kernel.ptx


@pytest.mark.in_turn
def test_signs_of_scales_need_a_permission() -> None:
    given = of_bytes((128, 128, 256), 2, "f8E4M3FN")
    assert ".block_scale" not in tilesat.compile(given.source(), "sm_100a").ptx
    assert "kind::mxf4nvf4.block_scale.block16" in tilesat.compile(given.source(), "sm_100a", fast=["uscale"]).ptx


def test_each_level_reads_back() -> None:
    read_back(compiled())


def ordered() -> str:
    """Each tile is read behind the one before, so no agent brings them ahead."""
    w = Writer("ordered", a="ptr<f8E4M3FN>", b="ptr<f8E4M3FN>", s="ptr<f8E8M0FNU>", t="ptr<f8E8M0FNU>", d="ptr<f32>")
    w.promise(a=16, b=16, s=16, t=16, d=16)
    a, b = (w.view(x, [128, 256], [256, 1], [128, 128]) for x in (w.a, w.b))
    s, t = (w.view(x, [128, 8], [8, 1], [128, 4]) for x in (w.s, w.t))
    with w.loop(0, 2, carried=[w.const(0.0, "f32", 128, 128), w.token]) as loop:
        total, token = loop.values
        tiles: list[Any] = []
        for view in (a, b, s, t):
            tile, token = w.load_token(view, 0, loop.counter, token=token)
            tiles.append(tile)
        left, right, across, down = tiles
        loop.values = [w.op(ct.MmaFScaled, left, right.T, total, across, down.T, types=[total.type]), token]
    w.store(loop.values[0], w.view(w.d, [128, 128], [128, 1], [128, 128]), 0, 0)
    return w.text()


@pytest.mark.in_turn
def test_what_no_producer_brings_is_scaled_before() -> None:
    """The same program as where the atoms are forbidden; said with the place where passes are run one by one."""
    kernel = tilesat.compile(ordered(), "sm_100a")
    assert kernel.ptx == tilesat.compile(ordered(), "sm_100a", forbid=[BY_SCALES]).ptx
    assert ".block_scale" not in kernel.ptx


def test_a_loop_without_a_producer_is_refused() -> None:
    source = read(product(), {})[0].entries[0]
    (found,) = run(until(parse_passes(ROAD), "decode"), source, ["sm_100a"])
    (func,) = (op for op in [read_level(found.text())] if isinstance(op, nv_tileas.Func))
    for op in func.walk():
        if isinstance(op, nv_tileas.TiledCopy):
            op.attributes["stages"] = 0
    assert place_accumulators(func) == 1
    with pytest.raises(TensorScaledError, match="no producer loads the tiles of its loop") as caught_:
        materialize(func, target("sm_100a"))
    assert caught_.value.hint == f"forbid the atom: --forbid {BY_SCALES}"


# --- how scales lie


@pytest.mark.parametrize("shape", [(128, 4), (256, 8), (64, 8), (32, 16), (128, 16)])
@pytest.mark.parametrize("turned", [False, True])
def test_where_scales_lie(shape: tuple[int, int], turned: bool) -> None:
    """In shared memory as PTX's tcgen05.cp and CUTLASS's SfAtom have them, in tensor memory as products read them."""
    rows, count = shape
    layout = scale_layout(shape[::-1] if turned else shape, 0 if turned else 1)
    assert layout is not None
    copies = scale_copies(rows, count)
    assert len(copies) == rows * count // 512
    assert sorted(copies) == [*range(0, scale_columns(rows, count), 4)]
    for row in range(0, rows, 7):
        for scale in range(count):
            place = layout.place(scale * rows + row if turned else row * count + scale)
            block, inside = divmod(place, 512)
            lane, word = divmod(inside, 16)
            column, byte = scale_place(rows, row // 32 * 32, scale)
            assert (lane, copies[block] + word // 4, word % 4) == (row % 32, column, byte)
            if rows >= 128:
                assert (
                    place
                    == 512 * (row // 128 * (count // 4) + scale // 4) + row % 32 * 16 + row // 32 % 4 * 4 + scale % 4
                )


def test_what_is_no_block_has_no_layout() -> None:
    assert [scale_layout(shape, 1) for shape in ((64, 4), (128, 2), (16, 64))] == [None] * 3


def test_blocks_come_in_one_box() -> None:
    """Two blocks of rows, one of scales: as in memory."""
    layout = scale_layout((256, 4), 1)
    assert layout is not None
    apart = layout.permute((2, 4, 32, 1, 4), (0, 3, 2, 1, 4))
    found = boxes((2, 1, 32, 16), 3, apart)
    assert found is not None
    assert len(found.places) == 1


def test_fields_of_the_descriptor() -> None:
    form = parse(
        scaled_descriptor(128, 256, "e5m2", "e4m3", "ue8m0", (3, 1), (False, True)),
        Mode("mxf8f6f4", 1, False, False, 1),
    )
    assert (form.m, form.n, form.a, form.b, form.scale_type) == (128, 256, "e5m2", "e4m3", "ue8m0")
    assert (form.scale_a, form.scale_b, form.a_transposed, form.b_transposed) == (3, 1, False, True)
    assert scaled_descriptor(128, 128, "e2m1", "e2m1", "ue4m3", (0, 0)) == 1 << 7 | 1 << 10 | 16 << 17 | 1 << 27
    changes = {
        (2, 0): 1 << 30, (0, 2): 1 << 5,
    }  # fmt: skip
    plain = scaled_descriptor(128, 128, "e2m1", "e2m1", "ue8m0", (0, 0))
    for bytes_, bits in changes.items():
        assert scaled_descriptor(128, 128, "e2m1", "e2m1", "ue8m0", bytes_) == plain | bits


def scaled(**more: Any) -> nvvm.TensorMmaScaled:
    d, a, b, scales = Block([I32, I64, I64, I32]).args
    given = {"shape": (128, 64, 32), "kind": "mxf8f6f4", "typeA": "e4m3", "typeB": "e4m3", "scale": "ue8m0", **more}
    return nvvm.TensorMmaScaled([d, a, b, scales], (), given, segments=(1, 1, 1, 1, 0, 0))


@pytest.mark.in_turn
def test_f4_in_memory_in_a_cluster() -> None:
    """Tiles are divided before they become bytes."""
    kernel = compiled("mxfp4-f4", True, ctas=2)
    assert kernel.manifest["cluster"] == [2, 1, 1]
    assert error(kernel, program(200, 136, 672, "mxfp4-f4", (), True), "mxfp4-f4", 672) < ERROR


F4 = {"kind": "mxf4", "typeA": "e2m1", "typeB": "e2m1", "shape": (128, 64, 64)}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"shape": (64, 64, 32)}, "block-scaled product m64n64k32 of e4m3"), ({"shape": (128, 24, 32)}, "m128n24k32"),
        ({"shape": (128, 64)}, r"shape must be \(m, n, k\)"), ({"typeB": "e2m1"}, "of kind mxf8f6f4 of e2m1"),
        ({"scale": "ue4m3"}, "kind mxf8f6f4 takes no scales of ue4m3"), ({**F4, "shape": (128, 64, 32)}, "k 64"),
        ({**F4, "byteA": 1}, "2 scales begin at byte 1"), ({**F4, "layoutB": "row"}, "e2m1 operands must be K-major"),
    ],
)  # fmt: skip
def test_products_that_do_not_exist_are_refused(more: dict[str, Any], message: str) -> None:
    verify(scaled())
    verify(scaled(**F4))
    with pytest.raises(VerifyError, match=message):
        verify(scaled(**more))


def test_atoms_by_type_and_block() -> None:
    def found(a: Any, scale: Any, block: int) -> set[str]:
        return {atom.name.rpartition("k")[2] for atom in scaled_tensor_atoms(a, a, F32, scale, block)}

    assert found(F8E4M3FN, F8E8M0FNU, 32) == {"32.mxf8f6f4.e4m3.e4m3"}
    assert found(I8, F8E8M0FNU, 16) == {"64.mxf4.e2m1.e2m1.ue8m0"}
    assert found(I8, F8E4M3FN, 8) == {"64.mxf4nvf4.e2m1.e2m1.ue4m3"}
    assert found(I8, F8E8M0FNU, 8) == {"64.mxf4nvf4.e2m1.e2m1.ue8m0"}
    assert not found(I8, F8E4M3FN, 16)
    assert not found(F8E4M3FN, F8E4M3FN, 32)


# --- the protocol with each of its parts changed

COPY = r"@%p0 tcgen05\.cp\S+ "
MULTIPLY = r"(@%p0 tcgen05\.mma\S+ .*)"
COMMIT = r"tcgen05\.commit\.\S+ "
WAIT = r"mbarrier\.try_wait\S+ %p\d+, "
AGAIN = r"\n\s+@!%p\d+ bra \S+;"
FULL, EMPTY, DONE = "208896", "208944", "208992"  # of the ring of "rows": the first of its barriers; of the sum
ROWS: dict[str, tuple[str, str]] = {
    "no scales of A": (COPY + r"\[%r\d+\+128\], .*;", ""),
    "no scales of B": (COPY + r"\[%r\d+\+132\], .*;", ""),
    "scales exchanged": (r"(block32 .*)(\[%r\d+\+128\]), (\[%r\d+\+132\])", r"\1\3, \2"),
    "scales of A for both": (r"(block32 .*), \[%r\d+\+132\],", r"\1, [%r12+128],"),
    "scales a column on": (r"(tcgen05\.cp\S+ \[%r\d+\+)132\]", r"\g<1>133]"),
    "scales of A over those of B": (r"(tcgen05\.cp\S+ \[%r\d+\+)128\]", r"\g<1>132]"),
    "scales over the sum": (r"(tcgen05\.cp\S+ \[%r\d+\+)128\]", r"\g<1>0]"),
    "scales behind the first product": (
        r"(?s)(@%p0 tcgen05\.cp\S+ \[%r\d+\+132\], %rd\d+;)(.*?tcgen05\.mma[^;]*;)", r"\2 \1"
    ),
    "scales of the step before": (", 681574416,", ", 144703488,"),
    "scales of another step of A": (", 681574416,", ", 1218445328,"),
    "scales of another step of B": (", 681574416,", ", 681574432,"),
    "scales read as ue4m3": (", 144703488,", ", 136314880,"),
    "rows of scales that lie wider apart": (r"\{(%r\d+), 16392\}", r"{\1, 16400}"),
    "scales of the buffer behind": (r"(add\.s64 %rd29, %rd28, )1088", r"\g<1>1152"),
    "factors of B for scales of B": (r"(add\.s64 %rd29, %rd28, )1088", r"\g<1>1024"),
    "all threads copy scales": (r"@%p0 (tcgen05\.cp)", r"\1"),
    "all threads multiply": (r"@%p0 (tcgen05\.mma)", r"\1"),
    "no proxy fence": (r"fence\.proxy\.async\.shared::cta;(?=\s+setp)", ""),
    "no wait for a full stage": (WAIT + rf"\[%r\d+\+{FULL}\].*" + AGAIN, ""),
    "full in the round before": (rf"(try_wait.*\+{FULL}\], )%r\d+;", r"\g<1>1;"),
    "full in the first round": (rf"(try_wait.*\+{FULL}\], )%r\d+;", r"\g<1>0;"),
    "full at the stage of another": (rf"(try_wait.*\+){FULL}\]", rf"\g<1>{int(FULL) + 8}]"),
    "full without the threads": (r"(mbarrier\.init.*), 129;", r"\1, 1;"),
    "full without one thread": (r"(mbarrier\.init.*), 129;", r"\1, 128;"),
    "full with one thread more": (r"(mbarrier\.init.*), 129;", r"\1, 130;"),
    "threads do not say that scales are there": (r"cp\.async\.mbarrier\.arrive.*;", ""),
    "threads say so twice": (r"(cp\.async\.mbarrier\.arrive.*;)", r"\1 \1"),
    "threads say so before": (
        r"(?s)(cp\.async\.ca\S+ \[%r\d+\+17408\].*?)(cp\.async\.mbarrier\.arrive[^;]*;)", r"\2 \1"
    ),
    "threads say so at once": (
        r"cp\.async\.mbarrier\.arrive\.noinc(\S+) (.*);", r"mbarrier.arrive.shared::cta.b64 _, \2;"
    ),
    "one arrival more a thread": (r"(cp\.async\.mbarrier\.arrive)\.noinc", r"\1"),
    "more bytes announced": (r"(expect_tx.*), 32768;", r"\1, 33280;"),
    "less bytes announced": (r"(expect_tx.*), 32768;", r"\1, 16384;"),
    "scales beyond the array": (r"selp\.b32 (%r\d+), (4|%r\d+), 0, (%p\d+);", r"mov.b32 \1, 4;"),
    "no scales of the last rows": (r"selp\.b32 (%r\d+), (4|%r\d+), 0, (%p\d+);", r"mov.b32 \1, 0;"),
    "no wait for an empty stage": (WAIT + rf"\[%r\d+\+{EMPTY}\].*" + AGAIN, ""),
    "always empty": (rf"(try_wait.*\+{EMPTY}\], )%r\d+;", r"\g<1>1;"),
    "empty at the stage of another": (rf"(try_wait.*\+){EMPTY}\]", rf"\g<1>{int(EMPTY) - 8}]"),
    "a stage given back to nobody": (r"@%p0 " + COMMIT + rf"\[%r\d+\+{EMPTY}\];", ""),
    "another stage given back": (r"(@%p0 " + COMMIT + rf"\[%r\d+\+){EMPTY}\];", rf"\g<1>{int(EMPTY) + 8}];"),
    "given back before it is read": (
        rf"(?s)(@%p0 tcgen05\.cp.*?)(@%p0 tcgen05\.commit\.\S+ \[%r\d+\+{EMPTY}\];)", r"\2 \1"
    ),
    "given back by two": (rf"(mbarrier\.init.*\+{EMPTY}\], )1;", r"\g<1>2;"),
    "the last product not committed": (COMMIT + rf"\[%r\d+\+{DONE}\];", ""),
    "no wait for the last product": (WAIT + rf"\[%r\d+\+{DONE}\], 0;" + AGAIN, ""),
    "the first product adds": (r"(tcgen05\.mma.*), %p\d+;", r"\1, 1;"),
    "the second product does not add": (r"(tcgen05\.mma.*, 681574416,.*), 1;", r"\1, 0;"),
    "not loaded when it is used": (r"tcgen05\.wait::ld.*;", ""),
    "columns for the sum alone": (r"(tcgen05\.(?:de)?alloc.*), 256;", r"\1, 128;"),
    "memory kept": (r"tcgen05\.dealloc.*;", ""),
    "memory given back twice": (r"(tcgen05\.dealloc.*;)", r"\1 \1"),
    "memory not there yet": (r"bar\.sync 0;", ""),
}  # fmt: skip
"""Pattern in the PTX of MXFP8 with scales in rows, and what is there instead."""
BLOCKS: dict[str, tuple[str, str]] = {
    "a word of scales for both": (r"\[%r8\+132\], \[%r8\+148\], 1;", "[%r8+128], [%r8+148], 1;"),
    "no third word of B": (COPY + r"\[%r8\+152\], .*;", ""),
    "words exchanged": (r"(?s)(cp\S+ \[%r8\+)132(\].*?\[%r8\+)136\]", r"\g<1>136\g<2>132]"),
    "scales of B where those of A lie": (r"(add\.s64 %rd14, %rd10, )-128", r"\g<1>0"),
    "blocks of scales that lie wider apart": (r"(add\.s64 %rd11, %rd10, )32", r"\g<1>64"),
    "scales not announced": (r"(expect_tx.*), 36864;", r"\1, 34816;"),
    "scales of other rows": (r"(\{0, 0, %r\d+, )%r4\}", r"\g<1>%r3}"),
    "scales of another step": (r"(\{0, 0, )%r\d+(, %r4\})", r"\g<1>0\2"),
    "scales in the buffer behind": (r"(\[%r\d+\+)16384(\], \[%rd5)", r"\g<1>18432\2"),
}  # fmt: skip
"""The same of NVFP4 with scales in blocks."""
AGENT: dict[str, tuple[str, str]] = {
    "scales over the first sum": (r"\[%r20\+256\]", "[%r20+0]"),
    "scales over the second sum": (r"\[%r20\+256\]", "[%r20+128]"),
    "scales of B over those of A": (r"(tcgen05\.cp\S+ \[%r20\+)260\]", r"\g<1>256]"),
    "no wait for an empty sum": (WAIT + r"\[%r\d+\+209008\].*" + AGAIN, ""),
    "no proxy fence": (r"fence\.proxy\.async\.shared::cta;(?=\s+setp)", ""),
    "scales copied before the stage is full": (
        r"(?s)(mbarrier\.try_wait[^;]*\+208896\][^;]*;\s+@!%p\d+ bra \S+;\s+fence[^;]*;)"
        r"(.*?tcgen05\.cp.*?tcgen05\.cp[^;]*;)", r"\2 \1",
    ),
    "the sum given to nobody": (COMMIT + r"\[%r\d+\+208992\];", ""),
    "a stage given back to nobody": (COMMIT + r"\[%r\d+\+208944\];", ""),
}  # fmt: skip
"""The same of an agent's loop, with scales in rows."""
MUTANTS: dict[str, tuple[str, bool, str, str, str]] = {
    **{f"rows: {name}": ("mxfp8", False, "off", *change) for name, change in ROWS.items()},
    **{f"blocks: {name}": ("nvfp4", True, "off", *change) for name, change in BLOCKS.items()},
    **{f"agent: {name}": ("mxfp8", False, "static", *change) for name, change in AGENT.items()},
}


@pytest.mark.sampled(60)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_of_the_protocol_are_caught(mutant: str) -> None:
    """More steps than the ring has stages; rows of B end in the tile."""
    which, (name, blocks, persistent, pattern, instead) = mutant.partition(":")[0], MUTANTS[mutant]
    kernel, k = compiled(name, blocks, persistent=persistent, forbid=(PARTS,)), deep(name, 8)  # stores of whole tiles
    given = program(128 if which == "rows" else 272, 72, k, name, (), blocks)
    wanted = expected(given.arguments(), name, k)
    ptx = changed(kernel.ptx, (pattern, instead))
    resident = 1 if persistent == "static" else RESIDENT

    def right(order: str) -> bool:
        return largest_error(simulate(kernel, given, ptx=ptx, schedule=order, resident=resident)[4], wanted) < ERROR

    caught(right, ("together", *ORDERS))
