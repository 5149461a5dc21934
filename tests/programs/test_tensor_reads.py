"""Products in tensor memory that are read where they are complete: attention, products in no loop, in branches; begun
by threads that compute, as what agents cannot begin is (tests/lowering/test_begun.py).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas, scf
from lowering.atoms.tcgen05 import BY_AGENT_READ
from ptxsim import SimulatorError
from tests.lowering.test_steady_states import attention
from tests.programs.program import Program, check, interpret, random, simulate
from tests.programs.rings import causal_attention
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel


def straight(branch: bool = False) -> Program:
    """D = (A B) C + A, with no loop; `branch`: in blocks of even number only, elsewhere A."""
    size = 128

    def source() -> str:
        w = Writer("straight", a="ptr<f16>", b="ptr<f16>", c="ptr<f16>", d="ptr<f32>")
        w.promise(a=16, b=16, c=16, d=16)
        views = [w.view(each, [2 * size, size], [size, 1], [size, size]) for each in (w.a, w.b, w.c, w.d)]
        number = w.ids[0]
        a, b, c = (w.load(view, number, 0) for view in views[:3])

        def products() -> Any:
            first = w.dot(a, b, w.const(0.0, "f32", size, size))
            return w.dot(first.to("f16"), c, a.to("f32"))

        if branch:
            even = number.rem(2).compare(ct.Predicate.EQUAL, 0)
            (d,) = w.branch(even, lambda: [products()], lambda: [a.to("f32")])
        else:
            d = products()
        w.store(d, views[3], number, 0)
        return w.text()

    def arguments() -> list[Any]:
        return [*(random((2 * size, size), "f16", 1 + i) for i in range(3)), random((2 * size, size), "f32", 5)]

    def expected(a: Any, b: Any, c: Any, d: Any) -> dict[int, Any]:
        x, y, z = (each.astype(np.float64).reshape(2, size, size) for each in (a, b, c))
        found = (x @ y).astype(np.float16).astype(np.float64) @ z + x
        if branch:
            found[1] = x[1]
        return {3: found.reshape(2 * size, size)}

    return Program("straight-branch" if branch else "straight", source, arguments, (2,), expected, 3e-2)


PROGRAMS: dict[str, Program] = {
    "64": attention(64, False, 136),
    "64-causal-tall": attention(64, True, 136, rows=256),
    "128-tall": attention(128, False, 136, rows=256, step=128),
    "128-causal-bf16": attention(128, True, 200, "bf16"),
    "256": attention(256, False, 136),
    "32-one-step": attention(32, False, 8),
    "two-loops": causal_attention(128, 64, 64, 2),
    "two-loops-tall": causal_attention(256, 128, 64, 2),
    "two-loops-persistent": causal_attention(128, 64, 64, 3, persistent=True),
    "straight": straight(),
    "branch": straight(branch=True),
}


SHARED = "/shared"
"""Behind a program's name: its left factors lie in shared memory, not in tensor memory."""
IN_SHARED = [f"{name}{SHARED}" for name in ("64", "64-causal-tall", "two-loops", "straight")]


def program(name: str) -> Program:
    return PROGRAMS[name.removesuffix(SHARED)]


@cache
def compiled(name: str, target: str = "sm_100a") -> Kernel:
    shared = ["tcgen05.ts"] if name.endswith(SHARED) else []
    return check(program(name), target, forbid=[BY_AGENT_READ, *shared])


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", [*PROGRAMS, *IN_SHARED])
def test_all_products_are_made_in_tensor_memory(name: str) -> None:
    """Same results as the interpreter and NumPy in hazard mode; no spill."""
    kernel = compiled(name)
    assert ("tcgen05.mma" in kernel.ptx, "mma.sync" in kernel.ptx) == (True, False)


@pytest.mark.in_turn
def test_another_target_and_the_atom_that_is_forbidden() -> None:
    assert LEFT.search(compiled("64", "sm_103a").ptx)
    assert "tcgen05" not in tilesat.compile(PROGRAMS["64"].source(), "sm_100a", forbid=["tcgen05"]).ptx


LEFT = re.compile(r"tcgen05\.mma\S* \[\S+\], \[\S+\], ")
"""A product whose left factor lies in tensor memory."""


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", PROGRAMS)
def test_computed_left_factors_lie_in_tensor_memory(name: str) -> None:
    """Those of the second product; where they must not they lie in shared memory."""
    assert LEFT.search(compiled(name).ptx)
    if name + SHARED in IN_SHARED:
        assert not LEFT.search(compiled(name + SHARED).ptx)


@pytest.mark.in_turn
def test_a_left_factor_lies_over_the_scores_that_it_is_made_of() -> None:
    """Scores and sums of 256 x 128 take all columns, powers none: each warpgroup has a block of rows."""
    func = compiled("128-tall").compiled.modules["nv_tileas"]
    made = [op for op in func.walk() if isinstance(op, nv_tileas.AllocTensorMemory)]
    (left,) = [op for op in made if op.left]
    assert (left.over is not None, left.pitch, compiled("128-tall").warps) == (True, 128, 8)
    assert left.column == next(op.column for op in made if op.result is left.over)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "groups"), [("128-tall", 2), ("two-loops-tall", 2), ("64", 1), ("64-causal-tall", 1)])
def test_each_warpgroup_begins_and_awaits_the_products_of_its_own_rows(name: str, groups: int) -> None:
    """There is no barrier of all threads in the loops: one warpgroup computes during the other's products."""
    func = compiled(name).compiled.modules["nv_tileas"]
    made = [op for op in func.walk() if isinstance(op, nv_tileas.AllocTensorMemory) and not op.left]
    inside = [each for op in func.walk() if isinstance(op, scf.For) for each in op.walk()]
    meets = (nv_tileas.Barrier, nv_tileas.TensorMeet)
    kinds = {type(op) for op in inside if isinstance(op, meets)}
    assert {op.groups for op in made} == {groups}
    assert kinds == {meets[groups > 1]}


def test_a_left_factor_lies_apart_from_scores_that_come_early() -> None:
    """The product of the next scores is under way while the powers of these are written."""
    func = compiled("64").compiled.modules["nv_tileas"]
    (left,) = [op for op in func.walk() if isinstance(op, nv_tileas.AllocTensorMemory) and op.left]
    assert (left.over, left.column, left.columns) == (None, 128, 256)


ORDERED = ["64", "two-loops", "straight", "64-causal-tall", "128-tall", "two-loops-tall", "64/shared"]
ORDERS = (0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5)))


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", ORDERS)
@pytest.mark.parametrize("name", ORDERED)
def test_any_order_of_warps(name: str, seed: int) -> None:
    assert error_of(name, f"skewed:{seed}") <= 1


def error_of(name: str, order: str, ptx: str = "") -> float:
    """Largest error of a program in units of what is allowed, with this order of warps."""
    case = program(name)
    pairs = zip(simulate(compiled(name), case, ptx=ptx, schedule=order), interpreted(name), strict=True)
    return max(largest_error(a, b) for a, b in pairs if isinstance(a, np.ndarray)) / case.tolerance


@cache
def interpreted(name: str) -> list[Any]:
    """The arguments after a run of the source."""
    return interpret(compiled(name), program(name))


@pytest.mark.in_turn
def test_accumulators_of_loops_that_follow_one_another_lie_over_one_another() -> None:
    """Scores and sums of 64 columns each, powers of 32, twice: 160 of 256 columns, so that two such CTAs fit."""
    (columns,) = set(re.findall(r"tcgen05\.alloc.*, (\d+);", compiled("two-loops").ptx))
    assert columns == "256"


@pytest.mark.in_turn
def test_buffers_of_loops_that_follow_one_another_lie_over_one_another() -> None:
    """One for the powers of both loops: where the first loop ends, all have waited for the product that reads it."""
    func = compiled("two-loops/shared").compiled.modules["nv_tileas"]
    written = [op.buffer.op for op in func.walk() if isinstance(op, nv_tileas.WriteBuffer)]
    buffers = {made for made in written if isinstance(made, nv_tileas.AllocTensor)}
    assert len(buffers) > 1
    assert len({made.offset for made in buffers}) == 1


@pytest.mark.in_turn
def test_a_sum_that_does_not_fit_with_the_scores_stays_in_tensor_memory() -> None:
    """256 queries, four warps: a thread has two rows of scores, and loads, scales and stores two of sums in parts."""

    def scales(name: str) -> bool:
        return any(isinstance(op, nv_tileas.TensorScale) for op in compiled(name).compiled.modules["nv_tileas"].walk())

    assert (scales("64-causal-tall"), scales("32-one-step")) == (True, False)


# What is left out, and in which of the programs it must be found. DONE: places of the barriers of products.
BEGINS = r"@!%p\d+ bra \$L\d+;((?:\n(?!.*\bbra\b).*)*tcgen05\.mma)"
MUTANTS: dict[str, tuple[str, str, str]] = {
    "nobody waits for a product": ("64", r"(try_wait.*\+DONE\]), %r\d+;", r"\1, 1;"),
    "a phase that stays": ("64", r"(try_wait.*\+DONE\]), %r\d+;", r"\1, 0;"),
    "no commit": ("64", r"tcgen05\.commit.*", ""),
    "all threads begin a product": ("64", BEGINS, r"\1"),
    "all products add": ("64", r"(tcgen05\.mma.*), 0;", r"\1, 1;"),
    "no wait for loads": ("64", r"tcgen05\.wait::ld\.sync\.aligned;", ""),
    "no barrier": ("64", r"bar\.sync 1, \d+;", ""),
    "no fence between proxies": ("64/shared", r"fence\.proxy\.async\S*;", ""),
    "both accumulators in one place": ("64", r"(tcgen05\.mma.*\[%r\d+)\+64\](, \[)", r"\1+0]\2"),
    "lanes of another warp": ("straight", r"(tcgen05\.ld.*)\+32\]", r"\1+64]"),
    "no wait for stores": ("64-causal-tall/shared", r"tcgen05\.wait::st\.sync\.aligned;", ""),
    "a part of the sum is not stored": ("64-causal-tall/shared", r"tcgen05\.st\S* \[%r\d+\+\d+\].*", ""),
    "the sum begins anew": ("64-causal-tall", r"(tcgen05\.mma.*\], .*), (?:1|%p\d+);", r"\1, 0;"),
    "no deallocation": ("straight", r"tcgen05\.dealloc.*", ""),
    "half of the columns": ("straight", r"(tcgen05\.alloc.*), 256;", r"\1, 128;"),
    "nobody meets": ("straight", r"bar\.sync 0;", ""),
    "no wait for the left factor": ("64", r"tcgen05\.wait::st\.sync\.aligned;", ""),
    "a part of the left factor is not stored": ("128-tall", r"tcgen05\.st\S* \[%r\d+\+0\], \{%r.*", ""),
    "the left factor a column on": ("64", r"(tcgen05\.st\S* \[%r\d+)\+128\]", r"\1+129]"),
    "the left factor read a step on": ("64", r"(tcgen05\.mma.*\], \[%r\d+)\+128\]", r"\1+136]"),
    "the left factor of the other rows": ("128-tall", r"(tcgen05\.mma.*\], \[%r\d+)\+128\]", r"\1+64]"),
    "warpgroups do not meet": ("128-tall", r"bar\.sync %r\d+, 128;", ""),
    "a warpgroup tells the other": ("128-tall", r"(tcgen05\.commit.*\+)196664\];", r"\g<1>196656];"),
    "a warpgroup begins with the rows of the other": ("128-tall", r"(tcgen05\.mma\S* \[%r\d+)\+128\]", r"\1+0]"),
    "the last warpgroup begins nothing": ("128-tall", r"(setp\.eq\.\S+ %p\d+, %r\d+), 160;", r"\1, 999;"),
    "the left factor over scores that come": ("64", r"(tcgen05\.st\S* \[%r\d+|mma.*\], \[%r\d+)\+128\]", r"\1+0]"),
    "the left factor in lanes of the first warp": ("64", r"(tcgen05\.st\S* \[)%r\d+(\+128\])", r"\1BASE\2"),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", MUTANTS)
def test_what_is_left_out_is_found(name: str) -> None:
    which, pattern, text = MUTANTS[name]
    ptx = compiled(which).ptx
    done = "|".join(dict.fromkeys(re.findall(r"tcgen05\.commit.*\+(\d+)\];", ptx)))
    base = re.search(r"tcgen05\.mma\S* \[(%r\d+)", ptx)
    assert base
    changed, count = re.subn(pattern.replace("DONE", f"(?:{done})"), text.replace("BASE", base[1]), ptx)
    assert count, "the mutation does not apply"
    try:
        seen = any(error_of(which, order, changed) > 10 for order in ("skewed:1", "skewed:2", "together"))
    except SimulatorError:
        return
    assert seen, "nobody sees it"
