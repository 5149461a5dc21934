# ruff: noqa: E501
"""Tokens, memory through pointers, atomic updates, allocations, printing."""

from __future__ import annotations

from tests.ir.conformance import Case, case

POINTERS, LOADED = "tile<4x8xptr<f32>>", "tile<4x8xf32>"
LOAD, STORE = f"{POINTERS} -> {LOADED}, token", f"{POINTERS}, {LOADED} -> token"
P, PV = f"%p: {POINTERS}", f"%p: {POINTERS}, %a: {LOADED}"
LIST = "expected a memory ordering, found 'sometimes'"


def loaded(condition: str, parameters: str, form: str, says: str, lines: int = 1) -> Case:
    """A load through pointers; `form` follows the mnemonic."""
    return case("load_ptr_tko", condition, f"%p: {POINTERS}{parameters}", f"%x, %t = load_ptr_tko {form}", says, lines)


def stored(condition: str, parameters: str, form: str, says: str, lines: int = 1) -> Case:
    """A store through pointers."""
    return case("store_ptr_tko", condition, f"%p: {POINTERS}{parameters}", f"%t = store_ptr_tko {form}", says, lines)


def updated(condition: str, pointers: str, value: str, form: str, says: str, lines: int = 1, mask: str = "") -> Case:
    """An atomic update; `form` is written between the mnemonic and the value."""
    extra, named = (f", %m: {mask}", ", %m") if mask else ("", "")
    written = f", {mask}" if mask else ""
    body = f"%x, %t = atomic_rmw_tko {form}, %a{named} : {pointers}, {value}{written} -> {value}, token"
    return case("atomic_rmw_tko", condition, f"%p: {pointers}, %a: {value}{extra}", body, says, lines)


def swapped(condition: str, pointers: str, value: str, says: str) -> Case:
    """A compare and swap."""
    body = f"%x, %t = atomic_cas_tko relaxed device %p, %a, %a : {pointers}, {value} -> {value}, token"
    return case("atomic_cas_tko", condition, f"%p: {pointers}, %a: {value}", body, says)


def accesses() -> list[Case]:
    """Tokens, loads and stores."""
    asks = "'{}' has type {}, '{}' {} requires {}"
    mask, wide = "tile<4x8xi1>", "tile<4x16xf32>"
    return [
        Case("make_token", "a result that is no token", "testing$func @f() -> tile<i32> {\n  %x = make_token : tile<i32>\n  return %x : tile<i32>\n}\n", "result 'result' must be a token, is tile<i32>"),
        case("join_tokens", "no token", "", "%x = join_tokens : token", "expected a value such as %x"),
        case("join_tokens", "one token", "%t: token", "%x = join_tokens %t : token", "operand 'tokens' must be at least two", 0),
        case("load_ptr_tko", "a source that is no pointer", f"%a: {LOADED}", f"%x, %t = load_ptr_tko weak %a : {LOADED} -> {LOADED}, token", f"operand 'source' must be a tile of pointers, is {LOADED}"),
        case("load_ptr_tko", "a result of another element type", "%p: tile<4x8xptr<i32>>", f"%x, %t = load_ptr_tko weak %p : tile<4x8xptr<i32>> -> {LOADED}, token", asks.format("result", LOADED, "source", "tile<4x8xptr<i32>>", "tile<4x8xi32>")),
        loaded("a result of another shape", "", f"weak %p : {POINTERS} -> {wide}, token", asks.format("result", wide, "source", POINTERS, LOADED)),
        loaded("a mask that is not i1", f", %m: {POINTERS}", f"weak %p, %m : {POINTERS}, {POINTERS} -> {LOADED}, token", f"operand 'mask' must be a tile of i1, is {POINTERS}"),
        loaded("a mask of another shape", ", %m: tile<4x16xi1>", f"weak %p, %m : {POINTERS}, tile<4x16xi1> -> {LOADED}, token", f"'mask' has type tile<4x16xi1>, must have the shape of 'source', {POINTERS}"),
        loaded("padding of another shape", f", %m: {mask}, %a: {wide}", f"weak %p, %m, %a : {POINTERS}, {mask}, {wide} -> {LOADED}, token", f"operand 'padding_value' has type {wide}, must have the type of 'result', {LOADED}"),
        loaded("padding of another element type", f", %m: {mask}, %a: tile<4x8xf16>", f"weak %p, %m, %a : {POINTERS}, {mask}, tile<4x8xf16> -> {LOADED}, token", f"operand 'padding_value' has type tile<4x8xf16>, must have the type of 'result', {LOADED}"),
        loaded("weak with a scope", "", f"weak device %p : {LOAD}", "attribute 'scope' is device, but a weak access has no scope", 2),
        loaded("release", "", f"release device %p : {LOAD}", "attribute 'order' must be weak or relaxed or acquire, is release"),
        loaded("a word in place of the scope", "", f"weak nearby %p : {LOAD}", "expected a memory scope or a value, found 'nearby'"),
        loaded("acquire without a scope", "", f"acquire %p : {LOAD}", "attribute 'scope' is missing, acquire needs one"),
        loaded("relaxed without a scope", "", f"relaxed %p : {LOAD}", "attribute 'scope' is missing, relaxed needs one"),
        stored("a value of another shape", f", %a: {wide}", f"weak %p, %a : {POINTERS}, {wide} -> token", asks.format("value", wide, "destination", POINTERS, LOADED)),
        stored("a value of another element type", ", %a: tile<4x8xf16>", f"weak %p, %a : {POINTERS}, tile<4x8xf16> -> token", asks.format("value", "tile<4x8xf16>", "destination", POINTERS, LOADED)),
        stored("a mask of another shape", f", %a: {LOADED}, %m: tile<4x16xi1>", f"weak %p, %a, %m : {POINTERS}, {LOADED}, tile<4x16xi1> -> token", f"'mask' has type tile<4x16xi1>, must have the shape of 'destination', {POINTERS}"),
        stored("a mask that is not i1", f", %a: {LOADED}, %m: tile<4x8xi8>", f"weak %p, %a, %m : {POINTERS}, {LOADED}, tile<4x8xi8> -> token", "operand 'mask' must be a tile of i1, is tile<4x8xi8>"),
        stored("weak with a scope", f", %a: {LOADED}", f"weak device %p, %a : {STORE}", "attribute 'scope' is device, but a weak access has no scope"),
        stored("acquire", f", %a: {LOADED}", f"acquire device %p, %a : {STORE}", "attribute 'order' must be weak or relaxed or release, is acquire"),
        stored("relaxed without a scope", f", %a: {LOADED}", f"relaxed %p, %a : {STORE}", "attribute 'scope' is missing, relaxed needs one"),
        stored("release without a scope", f", %a: {LOADED}", f"release %p, %a : {STORE}", "attribute 'scope' is missing, release needs one"),
    ]  # fmt: skip


def updates() -> list[Case]:
    """Atomics and automatic memory."""
    ints, i = "tile<2xptr<i32>>", "tile<2xi32>"
    asks = "'{}' has type {}, 'pointers' {} requires {}"
    return [
        updated("addf of integers", ints, i, "relaxed device %p, addf", f"mode addf needs f16, bf16, f32 or f64, operand 'arg' is {i}"),
        updated("an unknown mode", ints, i, "relaxed device %p, nand", "expected an atomic mode, found 'nand'"),
        updated("a value of another shape", "tile<4xptr<i32>>", i, "relaxed device %p, add", asks.format("arg", i, "tile<4xptr<i32>>", "tile<4xi32>")),
        updated("a value of another element type", "tile<2xptr<f32>>", i, "relaxed device %p, add", asks.format("arg", i, "tile<2xptr<f32>>", "tile<2xf32>")),
        updated("a mask of another shape", ints, i, "relaxed device %p, and", f"'mask' has type tile<4xi1>, must have the shape of 'pointers', {ints}", mask="tile<4xi1>"),
        updated("an unknown ordering", ints, i, "sometimes device %p, add", LIST, 2),
        updated("weak", ints, i, "weak device %p, add", "attribute 'order' must be relaxed or acquire or release or acq_rel, is weak"),
        updated("xchg of tf32", "tile<2xptr<tf32>>", "tile<2xtf32>", "relaxed device %p, xchg", "mode xchg needs 32 or 64 bits, operand 'arg' is tile<2xtf32>"),
        swapped("values of another shape", "tile<4xptr<i32>>", i, asks.format("cmp", i, "tile<4xptr<i32>>", "tile<4xi32>")),
        swapped("values of another element type", "tile<2xptr<f32>>", i, asks.format("cmp", i, "tile<2xptr<f32>>", "tile<2xf32>")),
        swapped("values of 8 bits", "tile<2xptr<i8>>", "tile<2xi8>", "needs elements of 32 or 64 bits, operand 'cmp' is tile<2xi8>"),
        case("alloca", "a negative number of elements", "", "%x = alloca num_elem = -10, alignment = 16 : tile<ptr<f32>>", "attribute 'num_elem' must not be negative, is -10"),
        case("alloca", "a negative alignment", "", "%x = alloca num_elem = 32, alignment = -16 : tile<ptr<f32>>", "attribute 'alignment' must be a power of two, is -16"),
        case("alloca", "an alignment that is no power of two", "", "%x = alloca num_elem = 64, alignment = 3 : tile<ptr<f32>>", "attribute 'alignment' must be a power of two, is 3"),
        case("alloca", "an alignment below the element's size", "", "%x = alloca num_elem = 64, alignment = 2 : tile<ptr<f32>>", "attribute 'alignment' must be at least 4, the bytes of f32, is 2"),
        case("print_tko", "no operand for a conversion", "", 'print_tko "one %i" -> token', "attribute 'str' converts 1 operands, got 0"),
        case("print_tko", "an operand too few", "%a: tile<2xf16>", 'print_tko "%f, %f", %a : tile<2xf16> -> token', "attribute 'str' converts 2 operands, got 1"),
        case("print_tko", "no format", "%a: tile<2xf16>", "print_tko : tile<2xf16> -> token", "expected a string for the format"),
        case("print_tko", "a conversion that does not end", "%a: tile<2xf16>", 'print_tko "all %", %a : tile<2xf16> -> token', "attribute 'str' has the unknown conversion '%'"),
        case("print_tko", "a number in place of the token", "%a: tile<i32>", 'print_tko "%i", %a token=%a : tile<i32> -> token', "operand 'token' must be a token, is tile<i32>"),
    ]  # fmt: skip


def cases() -> list[Case]:
    """The cases of this page."""
    return [*accesses(), *updates()]
