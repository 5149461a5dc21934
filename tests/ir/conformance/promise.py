# ruff: noqa: E501
"""Promises of assume, and optimization hints."""

from __future__ import annotations

from tests.ir.conformance import Case, case

HINT = "optimization hint"


def assumed(condition: str, predicate: str, type_: str, says: str, lines: int = 1) -> Case:
    """An assume with a wrong promise."""
    return case("assume", condition, f"%a: {type_}", f"%x = assume {predicate}, %a : {type_}", says, lines)


def hinted(condition: str, hints: str, says: str, lines: int = 1) -> Case:
    """An entry with wrong hints."""
    program = f"entry @k(%p: tile<ptr<f32>>) optimization_hints=<{hints}> {{\n  return\n}}\n"
    return Case("entry", condition, program, says, lines)


def cases() -> list[Case]:
    """The cases of this page."""
    pointer, view = "tile<ptr<f16>>", "tensor_view<64x64xf16, strides=[64,1]>"
    load = "%x, %t = load_ptr_tko weak %a optimization_hints = <{}> : tile<4xptr<f32>> -> tile<4xf32>, token"
    return [
        assumed("div_by of floats", "div_by<16>", "tile<f32>", "div_by needs integers, pointers or a tensor view, operand 'value' is tile<f32>"),
        assumed("div_by with a divisor above 2^62", "div_by<9223372036854775808>", "tile<i8>", "the divisor of div_by must be at most 2^62, is 9223372036854775808"),
        assumed("div_by with a divisor that is no power of two", "div_by<7>", "tile<16xi32>", "the divisor of div_by must be a positive power of two, is 7"),
        assumed("div_by with groups of a scalar", "div_by<1, every 8 along 0>", pointer, f"'along 0' does not exist in operand 'value' {pointer}"),
        assumed("div_by with groups of a tensor view", "div_by<1, every 8 along 0>", view, f"'along 0' does not exist in operand 'value' {view}"),
        assumed("div_by with groups longer than the dimension", "div_by<1, every 24 along 0>", "tile<16xi32>", "'every 24' must be 0 to 16, the size of dimension 0"),
        assumed("div_by with groups along no dimension", "div_by<1, every 2 along 1>", "tile<16xi32>", "'along 1' does not exist in operand 'value' tile<16xi32>"),
        assumed("same_elements for another rank", "same_elements<[8]>", pointer, f"same_elements has 1 sizes, operand 'value' is {pointer}"),
        assumed("same_elements of floats", "same_elements<[8]>", "tile<16xf32>", "same_elements needs integers or pointers, operand 'value' is tile<16xf32>"),
        assumed("same_elements with groups longer than the dimension", "same_elements<[24]>", "tile<16xi32>", "same_elements size 24 must be 0 to 16, the size of dimension 0"),
        assumed("bounded of floats", "bounded<0, 0>", "tile<16xf32>", "bounded needs integers, operand 'value' is tile<16xf32>"),
        assumed("an upper bound beyond the type", "bounded<0, 128>", "tile<16xi8>", "bounds 0 to 128 do not fit in operand 'value' tile<16xi8>"),
        assumed("a lower bound beyond the type", "bounded<-129, 6>", "tile<16xi8>", "bounds -129 to 6 do not fit in operand 'value' tile<16xi8>"),
        assumed("bounds in the wrong order", "bounded<8, 6>", "tile<16xi8>", "the lower bound 8 is above the upper bound 6"),
        assumed("a number in place of the promise", "32 : i32", "tile<f32>", "'32' is not an assumption"),
        hinted("an architecture without its hints", "sm_100 = 2", "expected '{'"),
        hinted("a number in place of the hints", "2", "expected the name of an architecture, found '2'"),
        hinted("an architecture that is not known", "sm_100a = {num_cta_in_cga = 2}", f"{HINT}s: unknown architecture 'sm_100a'"),
        hinted("a hint that entries do not have", "sm_100 = {speed = 1}", f"{HINT} 'speed' for sm_100 is not one of num_cta_in_cga, num_worker_warps_per_cta, occupancy"),
        hinted("num_cta_in_cga that is not a number", 'sm_100 = {num_cta_in_cga = "a"}', f"{HINT} 'num_cta_in_cga' for sm_100 must be an integer, is \"a\""),
        hinted("num_cta_in_cga that is no power of two", "sm_100 = {num_cta_in_cga = 7}", f"{HINT} 'num_cta_in_cga' for sm_100 must be a power of two up to 16, is 7"),
        hinted("several CTAs in a cluster before Hopper", "sm_80 = {num_cta_in_cga = 2}", f"{HINT} 'num_cta_in_cga' for sm_80 must be 1, is 2", 0),
        hinted("occupancy out of range", "sm_100 = {occupancy = 64}", f"{HINT} 'occupancy' for sm_100 must be 1 to 32, is 64"),
        hinted("num_worker_warps_per_cta that is not a number", 'sm_100 = {num_worker_warps_per_cta = "a"}', f"{HINT} 'num_worker_warps_per_cta' for sm_100 must be an integer, is \"a\""),
        hinted("num_worker_warps_per_cta that is no power of two", "sm_100 = {num_worker_warps_per_cta = 9}", f"{HINT} 'num_worker_warps_per_cta' for sm_100 must be a power of two up to 32, is 9"),
        hinted("num_worker_warps_per_cta out of range", "sm_100 = {num_worker_warps_per_cta = 64}", f"{HINT} 'num_worker_warps_per_cta' for sm_100 must be a power of two up to 32, is 64"),
        hinted("one architecture twice", "sm_90 = {occupancy = 1}, sm_90 = {occupancy = 2}", "an architecture, sm_90, is written twice", 0),
        case("load_ptr_tko", "a latency out of range", "%a: tile<4xptr<f32>>", load.format("sm_90 = {latency = 11}"), f"{HINT} 'latency' for sm_90 must be 1 to 10, is 11", 0),
        case("load_ptr_tko", "a hint of views", "%a: tile<4xptr<f32>>", load.format("sm_90 = {allow_tma = true}"), f"{HINT} 'allow_tma' for sm_90 is not one of latency", 0),
    ]  # fmt: skip
