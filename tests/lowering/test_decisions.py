"""The e-graph decides: what is forbidden is replaced by the next best, what is needless is not extracted.

Tiles of 64 x 64 x 32 keep this fast; the examples' own sizes are swept elsewhere. Every program that is looked at is
also run on random data, because a decision that computes something else is none.
"""

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from tests.tilesat.example_cases import EXAMPLES, F16_TOLERANCE, Case, gemm, gemm_negated
from tilesat.execution import largest_error
from tilesat.testing.kernel import CheckedKernel
from tilesat.testing.tile import Tile

TILE = 64
CASES: dict[str, Callable[[int, int, int], Case]] = {"gemm": gemm, "gemm_negated": gemm_negated}


@cache
def halved(example: str) -> str:
    """The example with every tile extent of 64 or 128 halved."""
    source = (EXAMPLES / f"{example}.mlir").read_text()
    return re.sub(r"(?<=[<(x])(128|64)(?=x|\))", lambda found: str(int(found[1]) // 2), source)


def compiled(tile: Tile, example: str, forbid: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> CheckedKernel:
    return tile.compile(halved(example), forbid=forbid, without=without)


def full_size(tile: Tile, example: str, without: tuple[str, ...] = ()) -> CheckedKernel:
    return tile.compile(EXAMPLES / f"{example}.mlir", without=without)


def check(k: CheckedKernel, example: str, m: int = 72, n: int = 40, k_extent: int = 56) -> None:
    """Simulator against the interpreter and NumPy, for sizes that are not a multiple of the tile."""
    case = CASES[example](m, n, k_extent)
    arguments = k.runs((-(-m // TILE), -(-n // TILE)), case.arguments, tolerance=F16_TOLERANCE)
    assert largest_error(case.logical(arguments), case.expected) <= F16_TOLERANCE
    assert case.outside_untouched(arguments)


# --- what was taken away is replaced by the next best


def test_best_program_uses_the_tensor_cores_as_intended(tile: Tile) -> None:
    k = compiled(tile, "gemm")
    loop = k.ptx.loop("mma.sync")
    loop.expect("mma.sync", count=64 * 64 * 32 // (16 * 8 * 16) // 4)
    loop.expect("ldmatrix")
    loop.expect("cp.async")
    k.chosen("%acc").expect(atom="mma.sync.m16n8k16", stages__ge=2)
    check(k, "gemm")


def test_without_ldmatrix_fragments_are_read_by_shared_loads(tile: Tile) -> None:
    k, best = compiled(tile, "gemm", ("ldmatrix",)), compiled(tile, "gemm")
    k.ptx.expect("ldmatrix", count=0)
    loop, best_loop = k.ptx.loop("mma.sync"), best.ptx.loop("mma.sync")
    loop.expect("ld.shared", count__gt=best_loop.count("ldmatrix"))
    loop.expect("mma.sync", count=best_loop.count("mma.sync"))
    k.expect(cost__gt=best.kernel.cost)
    check(k, "gemm")


def test_without_mma_the_product_is_scalar(tile: Tile) -> None:
    k = compiled(tile, "gemm", ("mma.sync",))
    k.ptx.expect("mma", count=0)
    k.ptx.loop("fma.rn.f32").expect("fma.rn.f32", count=64 * 64 * 32 // 128)
    k.chosen("%acc").expect(atom="fma.rn.f32")
    k.expect(cost__gt=compiled(tile, "gemm").kernel.cost)
    check(k, "gemm", 72, 40, 40)


def test_without_asynchronous_copies_they_go_through_registers(tile: Tile) -> None:
    k = compiled(tile, "gemm", ("cp.async",))
    loop = k.ptx.loop("mma.sync")
    k.ptx.expect("cp.async", count=0)
    loop.expect("ld.global")
    loop.expect("st.shared")
    k.expect(cost__gt=compiled(tile, "gemm").kernel.cost)
    check(k, "gemm")


def test_with_all_of_it_gone_the_program_is_still_right(tile: Tile) -> None:
    k = compiled(tile, "gemm", ("cp.async", "ldmatrix", "mma.sync"))
    k.ptx.expect("cp.async", "ldmatrix", "mma", count=0)
    k.expect(cost__ge=compiled(tile, "gemm", ("mma.sync",)).kernel.cost)
    check(k, "gemm", 40, 72, 40)


@pytest.mark.parametrize("atom", ["ldmatrix", "mma.sync", "cp.async"])
def test_one_graph_serves_both_choices(tile: Tile, atom: str) -> None:
    """Forbidding is a matter of cost: saturation does the same."""
    free, forbidden = compiled(tile, "gemm").kernel, compiled(tile, "gemm", (atom,)).kernel
    assert len(free.compiled.saturated.frozen.nodes) == len(forbidden.compiled.saturated.frozen.nodes)
    offered = [set(each.compiled.selection.enodes.values()) for each in (free, forbidden)]
    assert offered[0] == offered[1]


# --- negation


@pytest.mark.in_turn
@pytest.mark.parametrize("of", [full_size, compiled])
def test_sinking_negations_makes_the_loop_cheaper_and_shorter(tile: Tile, of: Callable[..., CheckedKernel]) -> None:
    sunk, left = of(tile, "gemm_negated"), of(tile, "gemm_negated", without=("sink-negf",))
    left.expect(cost__gt=sunk.kernel.cost)
    left_loop, sunk_loop = left.ptx.loop("mma.sync"), sunk.ptx.loop("mma.sync")
    left_loop.expect("neg.f16x2", count__gt=sunk_loop.count("neg.f16x2"))
    assert len(left_loop.lines) > len(sunk_loop.lines)


def test_negated_product_is_right_with_and_without_sinking(tile: Tile) -> None:
    check(compiled(tile, "gemm_negated"), "gemm_negated")
    check(compiled(tile, "gemm_negated", (), ("sink-negf",)), "gemm_negated")


# --- the loop holds what it must and no more


@pytest.mark.parametrize("of", [full_size, compiled])
def test_product_loop_is_clean(tile: Tile, of: Callable[..., CheckedKernel]) -> None:
    k = of(tile, "gemm")
    idle = ("div", "rem", "neg", "shfl", "cvt.rn", "st.shared", "st.global", "ld.global")
    k.ptx.loop("mma.sync").expect(*idle, count=0)
    k.nv_tileas.expect("convert_layout", count=0)
    k.ptx.expect("div", "rem", count=0)


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


def needless(tile: Tile, name: str) -> CheckedKernel:
    return tile.compile(program(NEEDLESS[name][0]))


@pytest.mark.parametrize("name", NEEDLESS)
def test_needless_conversions_are_not_extracted(tile: Tile, name: str) -> None:
    k = needless(tile, name)
    k.nv_tileas.expect("convert_layout", count=0)
    rng = np.random.default_rng(len(name))
    x, y = (rng.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
    v = rng.standard_normal(64).astype(np.float32)
    z = NEEDLESS[name][1](*(a.astype(np.float64) for a in (x, y, v)))
    k.runs(1, [x, y, v, np.full((64, 64), np.nan, np.float32)], expected={3: z}, tolerance=1e-5)


@pytest.mark.parametrize("name", ["permute of permute back", "two views of one layout"])
def test_elementwise_programs_move_whole_vectors(tile: Tile, name: str) -> None:
    ptx = needless(tile, name).ptx
    ptx.expect("ld.global.nc.v4")
    ptx.expect("st.global.v4")
    ptx.expect("ld.global.b32", "ld.global.nc.b32", "st.global.b32", "bar", count=0)


def test_a_needless_chain_costs_nothing(tile: Tile) -> None:
    chain, direct = needless(tile, "permute of permute back"), tile.compile(program(f"%out = addf %xt, %yt : {T}"))
    chain.expect(cost=direct.kernel.cost, instructions=len(direct.ptx.lines))


def test_a_conversion_that_is_needed_is_there(tile: Tile) -> None:
    """The other side of the tests above: a transposition in registers alone would read or write single elements."""
    k = tile.compile(program(f"%a = permute %xt [1, 0] : {T} -> {T}\n        %out = addf %a, %yt : {T}"))
    rng = np.random.default_rng(5)
    x, y = (rng.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
    z = np.full((64, 64), np.nan, np.float32)
    k.runs(1, [x, y, rng.standard_normal(64).astype(np.float32), z], expected={3: x.T.astype(np.float64) + y})
    assert k.nv_tileas.count("convert_layout") or ".shared" in k.ptx.text
