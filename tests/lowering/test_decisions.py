"""The e-graph decides: what is forbidden is replaced by the next best, what is needless is not extracted.

Tiles of 64 x 64 x 32 keep this fast; the examples' own sizes are swept elsewhere. Every program that is looked at is
also run on random data, because a decision that computes something else is none.
"""

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import tilesat
from tests.tilesat.example_cases import EXAMPLES, F16_TOLERANCE, Case, gemm, gemm_negated
from tilesat import Kernel
from tilesat.execution import largest_error

TILE = 64
CASES: dict[str, Callable[[int, int, int], Case]] = {"gemm": gemm, "gemm_negated": gemm_negated}


def halved(example: str) -> str:
    """The example with every tile extent of 64 or 128 halved."""
    source = (EXAMPLES / f"{example}.mlir").read_text()
    return re.sub(r"(?<=[<(x])(128|64)(?=x|\))", lambda found: str(int(found[1]) // 2), source)


@cache
def compiled(example: str, forbid: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> Kernel:
    return tilesat.compile(halved(example), forbid=forbid, without=without)


@cache
def full_size(example: str, without: tuple[str, ...] = ()) -> Kernel:
    return tilesat.compile(EXAMPLES / f"{example}.mlir", without=without)


def check(kernel: Kernel, example: str, m: int = 72, n: int = 40, k: int = 56) -> None:
    """Simulator against NumPy, for sizes that are no multiple of the tile."""
    case = CASES[example](m, n, k)
    arguments = case.fresh()
    kernel.run((-(-m // TILE), -(-n // TILE)), *arguments, on="sim")
    assert largest_error(case.logical(arguments), case.expected) <= F16_TOLERANCE
    assert case.outside_untouched(arguments)


def instructions(text: str) -> list[str]:
    return re.findall(r"^ +(?:@!?%\w+ )?([a-z][\w.:]*)", text, re.M)


def loops(ptx: str) -> list[list[str]]:
    """The instructions between every label and the branches back to it."""
    found: list[list[str]] = []
    for label in re.finditer(r"^(\$?\w+):$", ptx, re.M):
        after = ptx[label.end() :]
        back = list(re.finditer(rf"\bbra(?:\.uni)? {re.escape(label[1])};", after))
        if back:
            found.append(instructions(after[: back[-1].end()]))
    return found


def product_loop(kernel: Kernel, atom: str = "mma.sync") -> list[str]:
    """The loop that holds the products."""
    (found,) = (loop for loop in loops(kernel.ptx) if any(name.startswith(atom) for name in loop))
    return found


def count(names: list[str], *prefixes: str) -> int:
    return sum(name.startswith(prefixes) for name in names)


# --- what was taken away is replaced by the next best


def test_best_program_uses_the_tensor_cores_as_intended() -> None:
    kernel = compiled("gemm")
    loop = product_loop(kernel)
    assert count(loop, "mma.sync") == 64 * 64 * 32 // (16 * 8 * 16) // 4
    assert count(loop, "ldmatrix") > 0
    assert count(loop, "cp.async") > 0
    check(kernel, "gemm")


def test_without_ldmatrix_fragments_are_read_by_shared_loads() -> None:
    kernel = compiled("gemm", ("ldmatrix",))
    loop = product_loop(kernel)
    assert count(instructions(kernel.ptx), "ldmatrix") == 0
    assert count(loop, "ld.shared") > count(product_loop(compiled("gemm")), "ldmatrix")
    assert count(loop, "mma.sync") == count(product_loop(compiled("gemm")), "mma.sync")
    assert kernel.cost > compiled("gemm").cost
    check(kernel, "gemm")


def test_without_mma_the_product_is_scalar() -> None:
    kernel = compiled("gemm", ("mma.sync",))
    names = instructions(kernel.ptx)
    assert count(names, "mma") == 0
    assert count(product_loop(kernel, "fma.rn.f32"), "fma.rn.f32") == 64 * 64 * 32 // 128
    assert kernel.cost > compiled("gemm").cost
    check(kernel, "gemm", 72, 40, 40)


def test_without_asynchronous_copies_they_go_through_registers() -> None:
    kernel = compiled("gemm", ("cp.async",))
    loop = product_loop(kernel)
    assert count(instructions(kernel.ptx), "cp.async") == 0
    assert count(loop, "ld.global") > 0
    assert count(loop, "st.shared") > 0
    assert kernel.cost > compiled("gemm").cost
    check(kernel, "gemm")


def test_with_all_of_it_gone_the_program_is_still_right() -> None:
    kernel = compiled("gemm", ("cp.async", "ldmatrix", "mma.sync"))
    names = instructions(kernel.ptx)
    assert count(names, "cp.async", "ldmatrix", "mma.sync") == 0
    assert kernel.cost >= compiled("gemm", ("mma.sync",)).cost
    check(kernel, "gemm", 40, 72, 40)


@pytest.mark.parametrize("atom", ["ldmatrix", "mma.sync", "cp.async"])
def test_one_graph_serves_both_choices(atom: str) -> None:
    """Forbidding is a matter of cost: saturation does the same."""
    free, forbidden = compiled("gemm"), compiled("gemm", (atom,))
    assert len(free.compiled.saturated.frozen.nodes) == len(forbidden.compiled.saturated.frozen.nodes)
    offered = [set(each.compiled.selection.enodes.values()) for each in (free, forbidden)]
    assert offered[0] == offered[1]


# --- negation


@pytest.mark.parametrize("of", [full_size, lambda example, without=(): compiled(example, (), without)])
def test_sinking_negations_makes_the_loop_cheaper_and_shorter(of: Callable[..., Kernel]) -> None:
    sunk, left = of("gemm_negated"), of("gemm_negated", without=("sink-negf",))
    assert left.cost > sunk.cost
    assert count(product_loop(left), "neg.f16x2") > count(product_loop(sunk), "neg.f16x2")
    assert len(product_loop(left)) > len(product_loop(sunk))


def test_negated_product_is_right_with_and_without_sinking() -> None:
    check(compiled("gemm_negated"), "gemm_negated")
    check(compiled("gemm_negated", (), ("sink-negf",)), "gemm_negated")


# --- the loop holds what it must and no more


@pytest.mark.parametrize("kernel", [full_size, compiled])
def test_product_loop_is_clean(kernel: Callable[[str], Kernel]) -> None:
    made = kernel("gemm")
    loop = product_loop(made)
    assert count(loop, "div", "rem", "neg", "shfl", "cvt.rn", "st.shared", "st.global", "ld.global") == 0
    assert "nv_tileas.convert_layout" not in made.stages["nv_tileas"]
    assert count(instructions(made.ptx), "div", "rem") == 0


def test_the_loop_finder_sees_what_the_tests_look_for() -> None:
    text = "$L0:\n    mma.sync.x %f1;\n    @%p1 div.s32 %r1;\n    @%p1 bra $L0;\n    neg.f32 %f1;\n"
    assert loops(text) == [["mma.sync.x", "div.s32", "bra"]]


# --- needless layout conversions

VIEW = "tensor_view<64x64xf32, strides=[64,1]>"
TILES = f"partition_view<tile=(64x64), {VIEW}>"
ROW_VIEW = "tensor_view<64xf32, strides=[1]>"
ROW_TILES = f"partition_view<tile=(64), {ROW_VIEW}>"


def program(body: str) -> str:
    """x, y, z: 64 x 64 and v: 64 elements, f32; the body computes %out : tile<64x64xf32>, which goes to z."""
    lines = [
        "cuda_tile.module @m {",
        "  entry @k(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %v: tile<ptr<f32>>, %z: tile<ptr<f32>>) {",
        "    %zero = constant <i32: 0> : tile<i32>",
    ]
    for name in "xyvz":
        view, tiles = (ROW_VIEW, ROW_TILES) if name == "v" else (VIEW, TILES)
        extents = "shape = [64], strides = [1]" if name == "v" else "shape = [64, 64], strides = [64, 1]"
        lines += [
            f"    %{name}a = assume div_by<16>, %{name} : tile<ptr<f32>>",
            f"    %{name}v = make_tensor_view %{name}a, {extents} : {view}",
            f"    %{name}p = make_partition_view %{name}v : {tiles}",
        ]
    for name in "xy":
        lines.append(f"    %{name}t, %{name}k = load_view_tko weak %{name}p[%zero, %zero] : {TILES}, tile<i32> -> "
                     "tile<64x64xf32>, token")  # fmt: skip
    lines += [
        f"    %vt, %vk = load_view_tko weak %vp[%zero] : {ROW_TILES}, tile<i32> -> tile<64xf32>, token",
        body,
        f"    %done = store_view_tko weak %out, %zp[%zero, %zero] : tile<64x64xf32>, {TILES}, tile<i32> -> token",
        "    return",
        "  }",
        "}",
    ]
    return "\n".join(lines)


T, FLAT, CUBE = "tile<64x64xf32>", "tile<4096xf32>", "tile<16x4x64xf32>"
NEEDLESS = {
    "permute of permute back": (
        f"""%a = permute %xt [1, 0] : {T} -> {T}
        %b = permute %a [1, 0] : {T} -> {T}
        %out = addf %b, %yt : {T}""",
        lambda x, y, v: x + y,
    ),
    "sum of two transposed tiles, transposed": (
        f"""%a = permute %xt [1, 0] : {T} -> {T}
        %b = permute %yt [1, 0] : {T} -> {T}
        %c = addf %a, %b : {T}
        %d = mulf %c, %a : {T}
        %out = permute %d [1, 0] : {T} -> {T}""",
        lambda x, y, v: (x + y) * x,
    ),
    "chain of reshapes": (
        f"""%a = reshape %xt : {T} -> {FLAT}
        %b = reshape %a : {FLAT} -> {CUBE}
        %c = addf %b, %b : {CUBE}
        %d = reshape %c : {CUBE} -> {FLAT}
        %e = reshape %d : {FLAT} -> {T}
        %out = addf %e, %yt : {T}""",
        lambda x, y, v: 2 * x + y,
    ),
    "one row broadcast twice": (
        f"""%r = reshape %vt : tile<64xf32> -> tile<1x64xf32>
        %a = broadcast %r : tile<1x64xf32> -> {T}
        %s = reshape %vt : tile<64xf32> -> tile<1x64xf32>
        %b = broadcast %s : tile<1x64xf32> -> {T}
        %c = mulf %xt, %a : {T}
        %out = addf %c, %b : {T}""",
        lambda x, y, v: x * v + v,
    ),
    "two views of one layout": (
        f"""%a = addf %xt, %yt : {T}
        %b = mulf %a, %xt : {T}
        %out = subf %b, %yt : {T}""",
        lambda x, y, v: (x + y) * x - y,
    ),
    "reduction broadcast back over the same rows": (
        f"""%s = reduce %xt dim=1 identities=[0.000000e+00 : f32] : {T} -> tile<64xf32>
        (%p: tile<f32>, %q: tile<f32>) {{
          %w = addf %p, %q : tile<f32>
          yield %w : tile<f32>
        }}
        %c = reshape %s : tile<64xf32> -> tile<64x1xf32>
        %a = broadcast %c : tile<64x1xf32> -> {T}
        %out = subf %xt, %a : {T}""",
        lambda x, y, v: x - x.sum(1, keepdims=True),
    ),
}  # fmt: skip


@cache
def needless(name: str) -> Kernel:
    return tilesat.compile(program(NEEDLESS[name][0]))


@pytest.mark.parametrize("name", NEEDLESS)
def test_needless_conversions_are_not_extracted(name: str) -> None:
    kernel = needless(name)
    assert "nv_tileas.convert_layout" not in kernel.stages["nv_tileas"]
    rng = np.random.default_rng(len(name))
    x, y = (rng.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
    v, z = rng.standard_normal(64).astype(np.float32), np.full((64, 64), np.nan, np.float32)
    kernel.run(1, x, y, v, z, on="sim")
    assert largest_error(z, NEEDLESS[name][1](*(a.astype(np.float64) for a in (x, y, v)))) <= 1e-5


@pytest.mark.parametrize("name", ["permute of permute back", "two views of one layout"])
def test_elementwise_programs_move_whole_vectors(name: str) -> None:
    names = instructions(needless(name).ptx)
    assert count(names, "ld.global.nc.v4") > 0
    assert count(names, "st.global.v4") > 0
    assert count(names, "ld.global.b32", "ld.global.nc.b32", "st.global.b32", "bar.") == 0


def test_a_needless_chain_costs_nothing() -> None:
    chain, direct = needless("permute of permute back"), tilesat.compile(program(f"%out = addf %xt, %yt : {T}"))
    assert chain.cost == direct.cost
    assert len(instructions(chain.ptx)) == len(instructions(direct.ptx))


def test_a_conversion_that_is_needed_is_there() -> None:
    """The other side of the tests above: a transposition in registers alone would read or write single elements."""
    kernel = tilesat.compile(program(f"%a = permute %xt [1, 0] : {T} -> {T}\n        %out = addf %a, %yt : {T}"))
    rng = np.random.default_rng(5)
    x, y = (rng.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
    z = np.full((64, 64), np.nan, np.float32)
    kernel.run(1, x, y, rng.standard_normal(64).astype(np.float32), z, on="sim")
    assert largest_error(z, x.T.astype(np.float64) + y) <= 1e-6
    moved = "nv_tileas.convert_layout" in kernel.stages["nv_tileas"] or ".shared" in kernel.ptx
    assert moved
