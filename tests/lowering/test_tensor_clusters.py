"""Products in tensor memory by the CTAs of a cluster, each for itself (pairs: test_tensor_pairs.py): stages that some
fill are given back by commits to all of them. In hazard mode, in skewed orders of warps, and with each part of the
protocol changed.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

import tilesat
from lowering.atoms.tcgen05 import PAIR
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.lowering.test_clusters import ORDERS, UNIT, error, product, program
from tests.lowering.test_steady_states import attention
from tests.programs.program import interpret, simulate
from tilesat.execution import largest_error
from tilesat.kernel import Kernel

ERROR = 1e-4
COMMIT = r"tcgen05\.commit\.cta_group::1\.mbarrier::arrive::one\.shared::cluster"


@cache
def compiled(kind: str = "f16", right: str = "nk", ctas: int = 2, target: str = "sm_100a") -> Kernel:
    kernel = tilesat.compile(product(kind, right), target, num_ctas=ctas, forbid=[PAIR])
    assembled = assemble(kernel.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)
    assert kernel.manifest["cluster"] == [ctas, 1, 1]
    assert re.search(COMMIT + r"\.multicast::cluster", kernel.ptx)
    return kernel


@pytest.mark.sampled(20)
@pytest.mark.parametrize("size", [(200, 136, 184), (100, 272, 128), (1, 16, 64), (300, 272, 144)])
@pytest.mark.parametrize(
    ("kind", "right", "ctas", "target"),
    [
        ("f16", "nk", 2, "sm_100a"), ("f16", "kn", 4, "sm_100a"), ("bf16", "nk", 2, "sm_103a"),
        ("f8E4M3FN", "nk", 2, "sm_100a"), ("f16", "nk", 4, "sm_110a"),
    ],
)  # fmt: skip
def test_products(kind: str, right: str, ctas: int, target: str, size: tuple[int, int, int]) -> None:
    """Tails in each dimension; one CTA's half wholly out of bounds."""
    m, n, k = size
    n, k = (-(-each // UNIT[kind]) * UNIT[kind] for each in (n, k))
    assert error(compiled(kind, right, ctas, target), program(m, n, k, kind, right), right) < ERROR


@pytest.mark.sampled(10)
@pytest.mark.parametrize("steps", range(8))
def test_any_number_of_steps(steps: int) -> None:
    assert error(compiled(), program(136, 72, 64 * steps)) < ERROR


@pytest.mark.sampled(20)
@pytest.mark.parametrize("ctas", [2, 4])
@pytest.mark.parametrize("order", ORDERS)
def test_skewed_orders(ctas: int, order: str) -> None:
    assert error(compiled(ctas=ctas), program(136, 72, 320), schedule=order) < ERROR


def test_commits_name_the_ctas_that_fill_a_stage() -> None:
    """Of 2 x 2 CTAs three fill each stage: ranks that are not an interval."""
    kernel = compiled(ctas=4)
    (counts,) = {count for count in re.findall(r"mbarrier\.init.*, (\d+);", kernel.ptx) if count != "1"}
    assert counts == "3"


@pytest.mark.in_turn
@pytest.mark.parametrize("persistent", ["static", "atomic"])
def test_persistent_clusters(persistent: str) -> None:
    given = program(600, 520, 136)
    kernel = tilesat.compile(product("f16", "nk"), "sm_100a", num_ctas=2, persistent=persistent, forbid=[PAIR])
    assert error(kernel, given, resident=2) < ERROR


@pytest.mark.in_turn
def test_what_loops_read_of_products() -> None:
    """Attention: the threads give back what products have read when these are complete."""
    given = attention(64, True, 200, rows=256)
    kernel = tilesat.compile(given.source(), "sm_100a", num_ctas=2)
    assert "tcgen05.mma" in kernel.ptx
    assert ".multicast::cluster" in kernel.ptx
    found, wanted = simulate(kernel, given), interpret(kernel, given)
    assert largest_error(found[3], wanted[3]) < 2e-3


MEETING = r"barrier\.cluster\.arrive\.release\.aligned;\s+barrier\.cluster\.wait\.acquire\.aligned;"
BACK = rf"({COMMIT})\.multicast::cluster(\.b64 \[%r\d+\+\d+\]), (%rs\d+);"
MUTANTS: dict[str, tuple[str, str]] = {
    "no meeting at the start": (MEETING, "bar.sync 0;"),
    "no meeting at the end": (MEETING + r"(?=\s+ret)", ""),
    "a stage given back to this CTA alone": (BACK, r"\1\2;"),
    "a stage given back to nobody": (r"@%p\d+ " + BACK, ""),
    "given back before the products": (r"(?s)(\$W2;)(.*?)(@%p0 " + BACK + ")", r"\1 \3 \2"),
    "mask of this CTA": (r"(mov\.b16 %rs\d+), 3;", r"\1, 1;"),
    "mask of the other CTA": (r"(mov\.b16 %rs\d+), 3;", r"\1, 2;"),
    "mask of a CTA that is not there": (r"(mov\.b16 %rs\d+), 3;", r"\1, 7;"),
    "empty counts one CTA": (r"(mbarrier\.init.*), 2;", r"\1, 1;"),
    "empty counts three": (r"(mbarrier\.init.*), 2;", r"\1, 3;"),
    "no wait for an empty stage": (r"\$W3:\s+mbarrier\.try_wait.*\n.*bra \$W3;", ""),
    "parity of an empty stage": (r"(parity\.acquire\.cluster.*), (%r\d+);", r"\1, 0;"),
    "no wait for a full stage": (r"\$W2:\s+mbarrier\.try_wait.*\n.*bra \$W2;", ""),
    "bytes of one part": (r"(expect_tx.*), 49152;", r"\1, 32768;"),
    "no wait for the last product": (r"\$W1:\s+mbarrier\.try_wait.*\n.*bra \$W1;", ""),
    "the last product not committed": (rf"{COMMIT}\.b64 .*;", ""),
    "memory given back twice": (r"(tcgen05\.dealloc.*;)", r"\1 \1"),
    "memory kept": (r"tcgen05\.dealloc.*;", ""),
    "asked for without being allocated": (r"tcgen05\.alloc\..*;", ""),
}
"""Pattern in PTX and what stands there instead."""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_protocol_are_caught(name: str) -> None:
    kernel, given = compiled(), program(200, 136, 448)
    ptx = changed(kernel.ptx, MUTANTS[name], count=1 if "start" in name else 0)
    caught(lambda order: error(kernel, given, ptx=ptx, schedule=order) <= ERROR, ("together", *ORDERS))
