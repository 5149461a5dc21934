"""Products an iteration early: chosen by prediction, right at every number of iterations, in flight."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import tilesat
from ir.dialects import nv_tileas, scf
from lowering.modulo import Dependence, Graph, Operation, ahead
from lowering.modulo.in_order import early, interval
from lowering.schedule.agents import Agents
from runtime.ptxas import assemble, disassemble
from tests.lowering.report import outline
from tests.lowering.test_hopper import simulate
from tests.tilesat.example_cases import EXAMPLES, flash_attention
from tilesat.execution import largest_error
from tilesat.kernel import Kernel
from tilesat.mca.flow import loops
from tilesat.mca.listing import Instruction, functions

ATTENTION = (EXAMPLES / "flash_attention.mlir").read_text()
TARGET = "sm_90a"
SUMS = """
cuda_tile.module @m {
  entry @sums(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %c: tile<ptr<f16>>, %d: tile<ptr<f32>>, %n: tile<i32>) {
    %t0 = make_token : token
    %ap = assume div_by<16>, %a : tile<ptr<f16>>
    %bp = assume div_by<16>, %b : tile<ptr<f16>>
    %cp = assume div_by<16>, %c : tile<ptr<f16>>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %none = constant <f32: 0.0> : tile<64x64xf32>
    %quarter = constant <f32: 0.25> : tile<64x64xf32>
    %av = make_tensor_view %ap, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf16, strides=[64,1]>
    %bv = make_tensor_view %bp, shape = [64, 512], strides = [512, 1] : tensor_view<64x512xf16, strides=[512,1]>
    %cv = make_tensor_view %cp, shape = [512, 64], strides = [64, 1] : tensor_view<512x64xf16, strides=[64,1]>
    %dv = make_tensor_view %d, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
    %as = make_partition_view %av : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>
    %bs = make_partition_view %bv : partition_view<tile=(64x64), tensor_view<64x512xf16, strides=[512,1]>>
    %cs = make_partition_view %cv : partition_view<tile=(64x64), tensor_view<512x64xf16, strides=[64,1]>>
    %ds = make_partition_view %dv : partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>
    %x, %t1 = load_view_tko weak %as[%zero, %zero] token = %t0
      : partition_view<tile=(64x64), tensor_view<64x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
    %s = for %k in (%zero to LIMIT, step %one) : tile<i32> iter_values(%sum = %none) -> (tile<64x64xf32>) {
      %y, %t2 = load_view_tko weak %bs[%zero, %k] token = %t0
        : partition_view<tile=(64x64), tensor_view<64x512xf16, strides=[512,1]>>, tile<i32> -> tile<64x64xf16>, token
      %p = mmaf %x, %y, %none : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      %e = exp2 %p : tile<64x64xf32>
      %w = ftof %e : tile<64x64xf32> -> tile<64x64xf16>
      %z, %t3 = load_view_tko weak %cs[%k, %zero] token = %t0
        : partition_view<tile=(64x64), tensor_view<512x64xf16, strides=[64,1]>>, tile<i32> -> tile<64x64xf16>, token
      %half = mulf %sum, %quarter : tile<64x64xf32>
      %next = mmaf %w, %z, %half : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      continue %next : tile<64x64xf32>
    }
    %t4 = store_view_tko weak %s, %ds[%zero, %zero] token = %t0
      : tile<64x64xf32>, partition_view<tile=(64x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> token
    return
  }
}
"""


@cache
def sums(limit: str = "%n") -> Kernel:
    """sum = sum / 4 + exp2(a b_k) c_k for k below a limit."""
    return tilesat.compile(SUMS.replace("LIMIT", limit), TARGET)


@cache
def attention(text: str = ATTENTION, target: str = TARGET) -> Kernel:
    return tilesat.compile(text, target)


def body(kernel: Kernel) -> list[object]:
    """The kinds of operations in the loop of the computing warps, in order."""
    loop = next(op for op in kernel.compiled.modules["nv_tileas"].walk() if isinstance(op, scf.For))
    return [type(op) for op in loop.body.block.ops]


def test_scores_of_the_next_step_begin_before_the_exponentials_of_this_one() -> None:
    """The maximum of this step, the wait for its stage and for the weighted sums of the last one, the next scores."""
    loop = next(op for op in attention().compiled.modules["nv_tileas"].walk() if isinstance(op, scf.For))
    ops = loop.body.block.ops
    kinds = [type(op) for op in ops]
    dots = [op for op in ops if isinstance(op, nv_tileas.Dot)]
    waits = [op for op in ops if isinstance(op, nv_tileas.DotWait)]
    assert all(each.in_flight for each in dots)
    assert [each.pending for each in waits] == [0, 1]
    order = [ops.index(each) for each in (waits[0], dots[0], dots[1], waits[1])]
    assert kinds.index(nv_tileas.Reduce) < kinds.index(nv_tileas.BarrierWait) < order[0]
    assert order == sorted(order)
    assert loop.body.block.terminator.operands[3] is waits[1].result
    assert not any(op.early for op in dots)


def test_rings_go_round_in_step() -> None:
    """The ring of the weights' tiles begins with its second stage, so one stage and one parity serve both rings, and no
    iteration asks whether there was one before.
    """
    kernel = tilesat.compile(ATTENTION, TARGET)
    ops = list(kernel.compiled.modules["nv_tileas"].walk())
    passed = [op for op in ops if isinstance(op, nv_tileas.BarrierExpectTx) and not op.bytes]
    assert len(passed) == 1
    late = [op for op in ops if isinstance(op, nv_tileas.BarrierArrive) and op.pipeline is passed[0].pipeline]
    assert late
    assert not any(op.enable for op in late)
    waits = [op for op in kernel.compiled.modules["nvvm"].walk() if op.name.startswith("nvvm.mbarrier.try_wait")]
    parities: dict[object, set[object]] = {}
    for op in waits:
        parities.setdefault(op.parent, set()).add(op.operands[1])
    assert [len(found) for block, found in parities.items() if block.args and len(block.args) > 32] == [1, 1]


def test_ptxas_keeps_products_in_flight() -> None:
    """No advisory that products are serialised, and no spill."""
    made = assemble(attention().ptx, TARGET)
    assert (made.infos, made.spill_stores) == ((), 0)
    assert not assemble(sums().ptx, TARGET).infos


def test_the_way_out_of_a_loop_waits_before_results_meet() -> None:
    """The block that only the loop's end leads to waits: C7515 otherwise, where two loops follow one another."""
    kernel = attention()
    waits = [op for op in kernel.compiled.modules["nvvm"].walk() if op.name == "nvvm.wgmma.wait.group.sync.aligned"]
    alone = [op for op in waits if op.parent is not None and len(op.parent.ops) == 2]
    loops = [op for op in kernel.compiled.modules["nv_tileas"].walk() if isinstance(op, scf.For)]
    assert len(alone) == sum(any(isinstance(op, nv_tileas.Dot) for op in loop.walk()) for loop in loops) == 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("keys", [1, 64, 65, 300])
def test_attention_of_any_number_of_steps(keys: int) -> None:
    case = flash_attention(1, 130, keys)
    found = simulate(attention(), attention().ptx, case.grid, case.fresh())
    assert largest_error(case.logical(found), case.expected) <= case.tolerance
    assert case.outside_untouched(found)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("steps", [0, 1, 2, 8])
@pytest.mark.parametrize("schedule", ["together", "skewed:1", "skewed:2"])
def test_sums_of_any_number_of_steps(steps: int, schedule: str) -> None:
    """Including no steps: what was issued for the first one is not used."""
    kernel, rng = sums(), np.random.default_rng(steps)
    assert nv_tileas.DotWait in body(kernel)
    a, b, c = ((rng.standard_normal(shape) / 8).astype(np.float16) for shape in ((64, 64), (64, 512), (512, 64)))
    expected = np.zeros((64, 64))
    for k in range(steps):
        e = np.exp2(a.astype(np.float64) @ b[:, 64 * k : 64 * k + 64].astype(np.float64))
        expected = expected / 4 + e @ c[64 * k : 64 * k + 64].astype(np.float64)
    out = np.full((64, 64), np.nan, np.float32)
    found = simulate(kernel, kernel.ptx, (1,), [a, b, c, out, steps], schedule)[3]
    assert largest_error(found, expected) <= 2e-3


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("room_of", lambda _: 100, r"tiles would need \d+ registers per thread, at most 100 are free"),
        ("trip_counts", lambda _: {0: 1.0}, r"1 iterations are too few to pay for one more product"),
    ],
)
def test_reasons_against(monkeypatch: pytest.MonkeyPatch, name: str, value: object, why: str) -> None:
    """Too many registers, too few iterations: the loop stays as it is, and --explain says why."""
    monkeypatch.setattr(ahead, name, value)
    compiled = tilesat.compile(ATTENTION, TARGET).compiled
    assert not any(isinstance(op, nv_tileas.DotWait) for op in compiled.modules["nv_tileas"].walk())
    assert re.search(f"not applied: {why}", outline(compiled))


def test_without_a_producer_the_first_keys_have_a_buffer_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Agents, "plan", lambda *_: [])
    kernel, case = tilesat.compile(ATTENTION, TARGET), flash_attention(1, 130, 150)
    assert "mbarrier" not in kernel.ptx
    assert kernel.manifest["dynamic_smem"] <= 7 * 2 * 8192
    found = simulate(kernel, kernel.ptx, case.grid, case.fresh())
    assert largest_error(case.logical(found), case.expected) <= case.tolerance


def test_explain_says_why() -> None:
    said = outline(attention().compiled)
    assert re.search(r"in source order \d+, with its first product one iteration early \d+: applied", said)


@pytest.mark.in_turn
def test_products_that_wait_for_each_other_take_two_warps_a_scheduler() -> None:
    """One warp's exponentials overlap another's products; a GEMM's products follow one another anyway."""
    assert attention().compiled.selection.warps == 8
    assert tilesat.compile((EXAMPLES / "gemm.mlir").read_text(), TARGET).compiled.selection.warps == 4
    assert attention(target="sm_80").compiled.selection.warps == 4


def graph(*chain: tuple[str, float]) -> Graph:
    """Operations one after the other, each on its unit for so long, a ring bringing those from global memory; the last
    one's result is read by the last again.
    """
    operations = tuple(Operation(f"{u} {i}", {u: use}, 1.0, ahead=u == "global") for i, (u, use) in enumerate(chain))
    steps = [Dependence(i, i + 1, use) for i, (_, use) in enumerate(chain[:-1])]
    return Graph(operations, (*steps, Dependence(len(chain) - 1, len(chain) - 1, chain[-1][1], 1)))


def test_an_early_product_leaves_the_longest_path() -> None:
    made = graph(("global", 10.0), ("tensor", 100.0), ("issue", 50.0), ("tensor", 100.0))
    assert early(made) == {0, 1}
    assert interval(made, 20.0) == pytest.approx(270, abs=1)
    assert interval(made, 20.0, early(made)) == pytest.approx(200, abs=1)  # the tensor cores are busy all the time


def test_what_no_ring_brings_is_waited_for() -> None:
    """A load straight into registers, in each iteration: nothing that needs it begins before it has come."""
    made = graph(("global", 10.0), ("issue", 50.0))
    loaded = Graph((replace(made.operations[0], ahead=False), made.operations[1]), made.dependences)
    assert interval(made, 20.0) == pytest.approx(50, abs=1)
    assert interval(loaded, 20.0) == pytest.approx(60, abs=1)


def test_a_product_that_needs_the_iteration_before_is_not_early() -> None:
    made = graph(("tensor", 100.0), ("issue", 50.0), ("tensor", 100.0))
    carried = Graph(made.operations, (*made.dependences, Dependence(2, 0, 100.0, 1)))
    assert early(made) == {0}
    assert not early(carried)
    assert not early(graph(("tensor", 100.0), ("issue", 50.0)))


def test_the_next_scores_come_before_the_exponentials_in_sass() -> None:
    """All products of the group before the first exponential of this step, the wait for them behind the last."""
    listing = disassemble(assemble(attention().ptx, TARGET), encodings=True)
    paths = [each.path for made in functions(listing) for each in loops(made) if products(each.path)]
    assert len(paths) == 2  # without masks, and with them
    for path in paths:
        codes = [each.opcode for each in path]
        exponentials = [place for place, code in enumerate(codes) if code.startswith("MUFU.EX2")]
        ends = [place for place, each in enumerate(path) if "HGMMA" in each.opcode and "gsb" in each.operands]
        waits = [place for place, code in enumerate(codes) if code.startswith("WARPGROUP.DEPBAR")]
        assert len(ends) == 2
        assert ends[0] < exponentials[0]
        assert exponentials[-1] < min(ends[1], waits[-1])
        assert waits[0] < ends[0]  # the sums of the step before, behind its maximum


def products(path: Sequence[Instruction]) -> bool:
    return any("HGMMA" in each.opcode for each in path)
