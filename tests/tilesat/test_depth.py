"""Long chains, deep nests and wide trees: they compile, or stop with a message that names the limit."""

import time

import pytest

import tilesat
from tilesat import TileError

HEAD = """entry @k(%x: tile<ptr<f32>>, %n: tile<i32>) {
  %i = iota : tile<128xi32>
  %xs = reshape %x : tile<ptr<f32>> -> tile<1xptr<f32>>
  %xb = broadcast %xs : tile<1xptr<f32>> -> tile<128xptr<f32>>
  %xp = offset %xb, %i : tile<128xptr<f32>>, tile<128xi32> -> tile<128xptr<f32>>
  %v0, %t = load_ptr_tko weak %xp : tile<128xptr<f32>> -> tile<128xf32>, token
"""
END = """  %d = store_ptr_tko weak %xp, {} token=%t : tile<128xptr<f32>>, tile<128xf32> -> token
  return
}}
"""


def chain(n: int) -> str:
    """`n` operations, each of the one before."""
    lines = [f"  %v{k + 1} = {('addf', 'mulf')[k % 2]} %v{k}, %v0 : tile<128xf32>\n" for k in range(n)]
    return HEAD + "".join(lines) + END.format(f"%v{n}")


def tree(n: int) -> str:
    """About `n` operations: constants, added pairwise."""
    values = [f"%k{k}" for k in range((n + 1) // 2)]
    lines = [f"  {each} = constant <f32: {k}.5> : tile<128xf32>\n" for k, each in enumerate(values)]
    while len(values) > 1:
        sums = [f"%s{len(lines) + k}" for k in range(len(values) // 2)]
        pairs = zip(sums, values[::2], values[1::2], strict=False)
        lines += [f"  {s} = addf {a}, {b} : tile<128xf32>\n" for s, a, b in pairs]
        values = sums + values[2 * len(sums) :]
    lines.append(f"  %z = addf {values[0]}, %v0 : tile<128xf32>\n")
    return HEAD + "".join(lines) + END.format("%z")


def nest(n: int) -> str:
    """`n` loops inside one another, which carry one tile."""
    text = HEAD + "  %c0 = constant <i32: 0> : tile<i32>\n  %c1 = constant <i32: 1> : tile<i32>\n"
    for k in range(n):
        carried = f"(%a{k} = {f'%a{k - 1}' if k else '%v0'}) -> (tile<128xf32>)"
        text += f"  %r{k} = for %i{k} in (%c0 to %n, step %c1) : tile<i32> iter_values{carried} {{\n"
    text += f"  %m = addf %a{n - 1}, %v0 : tile<128xf32>\n  continue %m : tile<128xf32>\n"
    for k in reversed(range(n)):
        text += "  }\n" + (f"  continue %r{k} : tile<128xf32>\n" if k else "")
    return text + END.format("%r0")


def seconds(source: str) -> float:
    started = time.process_time()
    assert "st.global" in tilesat.compile(source).ptx
    return time.process_time() - started


@pytest.mark.slow
def test_time_grows_less_than_the_power_of_one_and_a_half_to_a_chain_of_5000():
    seconds(chain(10))
    short, long = seconds(chain(1250)), seconds(chain(5000))
    assert long < 8 * short  # four times as long: 4 is linear


def test_chain_of_1000():
    assert "st.global" in tilesat.compile(chain(1000)).ptx


@pytest.mark.slow
def test_tree_of_20000():
    assert "st.global" in tilesat.compile(tree(20_000)).ptx


@pytest.mark.slow
def test_62_loops():
    assert "st.global" in tilesat.compile(nest(62)).ptx


@pytest.mark.parametrize(
    ("depth", "message"),
    [
        (63, "more than 62 loops and branches in one kernel are not supported yet"),
        (64, "regions are nested deeper than 64"),
    ],
)
def test_more_loops_are_refused(depth: int, message: str):
    with pytest.raises(TileError, match=message) as caught:
        tilesat.compile(nest(depth))
    assert caught.value.location.line > 60


@pytest.mark.slow
def test_tree_of_100000_is_refused():
    with pytest.raises(TileError, match=r"the kernel about 100[0-9]{3} instructions, of at most 65536") as caught:
        tilesat.compile(tree(100_000))
    assert caught.value.location.line > 0
