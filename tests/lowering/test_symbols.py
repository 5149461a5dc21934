"""Names of the source in PTX: kept where PTX takes them, else mangled, and never read as anything but a name."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilesat
from ir.quoting import symbol_text
from lowering.symbols import symbol
from runtime.ptxas import assemble

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
KEPT = ("gemm", "_kernel", "_Z4gemmPfS_", "add", "ld", "reg", "entry", "bra", "a$b", "__", "main", "tid", "K9")
MANGLED = {
    "my-kernel": "tile$my$2Dkernel", "a b": "tile$a$20b", "": "tile$", "_": "tile$_", "9": "tile$9",
    "%r0": "tile$$25r0",
    "WARP_SZ": "tile$WARP_SZ", "$L0": "tile$$24L0", "tile$": "tile$tile$24", "literal$0": "tile$literal$240",
    "dynamic_smem": "tile$dynamic_smem", "k_param_0": "tile$k_param_0", "é": "tile$$C3$A9", "a\n": "tile$a$0A",
    "__assertfail": "tile$__assertfail", "free": "tile$free",
}  # fmt: skip
CRAFTED = 'k() { ret; }\n.visible .entry evil() { trap; }\n// "'

KERNEL = """
global @NAME <i32: [3, 5]> : tile<2xi32>
entry @ENTRY(%p: tile<ptr<i32>>) {
  %g = get_global @NAME : tile<ptr<i32>>
  %more = constant <i32: [10, 7]> : tile<2xi32>
  %i = iota : tile<2xi32>
  %a = reshape %g : tile<ptr<i32>> -> tile<1xptr<i32>>
  %b = broadcast %a : tile<1xptr<i32>> -> tile<2xptr<i32>>
  %at = offset %b, %i : tile<2xptr<i32>>, tile<2xi32> -> tile<2xptr<i32>>
  %t0 = make_token : token
  %x, %t1 = load_ptr_tko weak %at token=%t0 : tile<2xptr<i32>> -> tile<2xi32>, token
  %s = addi %x, %more : tile<2xi32>
  %c = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %d = broadcast %c : tile<1xptr<i32>> -> tile<2xptr<i32>>
  %to = offset %d, %i : tile<2xptr<i32>>, tile<2xi32> -> tile<2xptr<i32>>
  %t2 = store_ptr_tko weak %to, %s token=%t1 : tile<2xptr<i32>>, tile<2xi32> -> token
}
"""


@pytest.mark.parametrize("name", KEPT)
def test_legal_names_are_kept(name: str) -> None:
    assert symbol(name) == name


@pytest.mark.parametrize("name", MANGLED)
def test_others_are_mangled(name: str) -> None:
    assert symbol(name) == MANGLED[name]


NAMES = st.text(st.sampled_from("ak_$0 2D-é\n%.tile"), max_size=8) | st.text(max_size=20)


@pytest.mark.in_turn
@given(NAMES, NAMES)
def test_no_two_names_become_one(first: str, second: str) -> None:
    assert IDENTIFIER.fullmatch(symbol(first))
    assert (symbol(first) == symbol(second)) == (first == second)


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("entry", "array"),
    [("add", "ld"), ("my-kernel", "a b"), (CRAFTED, 'g[1]; .global .b8 evil[4] = {1}; // "'), ("k", "k_param_0"),
     ("tile$", "literal$0"), ("_", "WARP_SZ"), ("dynamic_smem", "$L0")],
)  # fmt: skip
def test_names_are_nothing_but_names(entry: str, array: str) -> None:
    """The kernel assembles, has one entry, and computes the same whatever it is called."""
    text = KERNEL.replace("@ENTRY", symbol_text(entry)).replace("@NAME", symbol_text(array))
    kernel = tilesat.compile(text)
    assert json.loads(json.dumps(kernel.manifest))["name"] == entry
    assert list(assemble(kernel.ptx, "sm_80").entries) == [kernel.manifest["entry"]] == [symbol(entry)]
    assert kernel.ptx.count(".entry ") == 1
    assert "evil[" not in kernel.ptx
    found = np.zeros(2, np.int32)
    kernel.run(1, found)
    assert found.tolist() == [13, 12]
