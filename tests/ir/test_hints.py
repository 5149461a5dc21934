"""Optimization hints: preserved in every form; valid ones pass, invalid ones give a warning, not an error."""

import pytest

from ir.bytecode import read_bytecode, write_bytecode
from ir.core import VerifyError, verify
from ir.dialects.cuda_tile.hints import ARCHITECTURES, hint_faults, verify_hints
from ir.text import parse, print_text

LOAD = "%x, %t = load_ptr_tko weak %p optimization_hints = <{}> : tile<ptr<f32>> -> tile<f32>, token"
VIEW = "tensor_view<64xf32, strides=[1]>"
TILES = f"partition_view<tile=(16), {VIEW}>"
LOAD_VIEW = f"""%v = make_tensor_view %p, shape = [64], strides = [1] : {VIEW}
  %w = make_partition_view %v : {TILES}
  %x, %t = load_view_tko weak %w[%i] optimization_hints = <{{}}> : {TILES}, tile<i32> -> tile<16xf32>, token"""


def program(entry="", body=""):
    hints = f" optimization_hints=<{entry}>" if entry else ""
    return f"entry @k(%p: tile<ptr<f32>>, %i: tile<i32>){hints} {{\n  {body}\n  return\n}}\n"


RIGHT = [
    program(", ".join(f"{arch} = {{occupancy = 2}}" for arch in ARCHITECTURES)),
    program(
        "sm_80 = {num_cta_in_cga = 1}, sm_90 = {num_cta_in_cga = 16, num_worker_warps_per_cta = 32, occupancy = 32}"
    ),
    program("default = {}", LOAD.format("sm_90 = {latency = 10}, default = {latency = 1}")),
    program("", LOAD_VIEW.format("sm_120 = {allow_tma = false, latency = 3}")),
]
WRONG = [
    (program("sm_80 = {num_cta_in_cga = 2}"), "'num_cta_in_cga' for sm_80 must be 1, is 2"),
    (program("default = {num_cta_in_cga = 32}"), "must be a power of two up to 16, is 32"),
    (program("sm_90 = {occupancy = true}"), "'occupancy' for sm_90 must be an integer, is true"),
    (program("sm_90 = {occupancy = 0}"), "'occupancy' for sm_90 must be 1 to 32, is 0"),
    (program("sm_90 = {latency = 3}"), "'latency' for sm_90 is not one of num_cta_in_cga, "),
    (program("sm_91 = {occupancy = 1}"), "unknown architecture 'sm_91', expected one of default, sm_80"),
    (program("", LOAD.format("sm_90 = {latency = 0}")), "'latency' for sm_90 must be 1 to 10, is 0"),
    (program("", LOAD.format("sm_90 = {allow_tma = true}")), "'allow_tma' for sm_90 is not one of latency"),
    (program("", LOAD_VIEW.format("sm_90 = {allow_tma = 1}")), "'allow_tma' for sm_90 must be true or false, is 1"),
    (program("", LOAD_VIEW.format('sm_90 = {latency = "lo\\"ng"}')), 'must be an integer, is "lo\\22ng"'),
]


@pytest.mark.parametrize("text", RIGHT, ids=range(len(RIGHT)))
def test_right_hints_pass(text):
    assert list(hint_faults(parse(text))) == []


@pytest.mark.parametrize(("text", "says"), WRONG, ids=range(len(WRONG)))
def test_wrong_hints_are_reported_and_the_program_is_still_right(text, says):
    module = parse(text, "k.mlir")
    verify(module)
    (fault,) = hint_faults(module)
    assert says in fault.message
    assert fault.location.file == "k.mlir"
    assert fault.location.line > 0
    with pytest.raises(VerifyError) as caught:
        verify_hints(module)
    assert caught.value.message == fault.message


@pytest.mark.parametrize("text", [*RIGHT, *(text for text, _ in WRONG)], ids=range(len(RIGHT) + len(WRONG)))
def test_hints_are_kept_in_every_form(text):
    module = parse(text)
    printed = print_text(module)
    assert print_text(parse(printed)) == printed
    assert print_text(parse(print_text(module, form="generic"))) == printed
    assert print_text(read_bytecode(write_bytecode(module))) == printed
