"""Chains of operations that depend on one another: their length is limited by nothing but the budgets."""

import numpy as np
import pytest

import tilesat

OPERATIONS = ("addf {a}, {w}", "mulf {a}, {h}", "subf {a}, {w}", "maxf {a}, {w}")
INTEGERS = ("addi {a}, {w}", "xori {a}, {h}", "muli {a}, {w}", "subi {a}, {h}")


def chain(length: int, element: str, forms: tuple[str, ...], size: int = 128) -> str:
    """One load, a chain over it and another one, one store."""
    tile, pointers = f"tile<{size}x{element}>", f"tile<{size}xptr<{element}>>"
    lines = [
        f"cuda_tile.module @m {{ entry @chain(%x: tile<ptr<{element}>>, %y: tile<ptr<{element}>>) {{",
        f"%start = make_token : token\n%i = iota : tile<{size}xi32>",
    ]
    for name in "xy":
        lines += [
            f"%b{name} = reshape %{name} : tile<ptr<{element}>> -> tile<1xptr<{element}>>",
            f"%p{name} = broadcast %b{name} : tile<1xptr<{element}>> -> {pointers}",
            f"%q{name} = offset %p{name}, %i : {pointers}, tile<{size}xi32> -> {pointers}",
        ]
    half = "0.5" if element == "f32" else "23"
    lines += [
        f"%v0, %t0 = load_ptr_tko weak %qx token = %start : {pointers} -> {tile}, token",
        f"%w, %t1 = load_ptr_tko weak %qy token = %t0 : {pointers} -> {tile}, token",
        f"%h = constant <{element}: {half}> : {tile}",
    ]
    for k in range(length):
        lines.append(f"%v{k + 1} = {forms[k % len(forms)].format(a=f'%v{k}', w='%w', h='%h')} : {tile}")
    lines.append(f"%end = store_ptr_tko weak %qx, %v{length} token = %t1 : {pointers}, {tile} -> token\nreturn }} }}")
    return "\n".join(lines)


@pytest.mark.in_turn
@pytest.mark.parametrize(("element", "forms", "target"), [("f32", OPERATIONS, "sm_80"), ("i32", INTEGERS, "sm_90a")])
def test_a_chain_of_hundreds_computes_what_the_interpreter_does(
    element: str, forms: tuple[str, ...], target: str
) -> None:
    kernel = tilesat.compile(chain(700, element, forms), target)
    random = np.random.default_rng(3)
    if element == "f32":
        x, y = (random.uniform(-1, 1, 128).astype(np.float32) for _ in range(2))
    else:
        x, y = (random.integers(-9, 9, 128).astype(np.int32) for _ in range(2))
    found, expected = x.copy(), x.copy()
    kernel.run(1, found, y.copy())
    kernel.run(1, expected, y.copy(), on="ref")
    assert not np.array_equal(found, x)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize(("element", "forms"), [("f32", OPERATIONS), ("i32", INTEGERS)])
def test_a_chain_of_thousands_compiles(element: str, forms: tuple[str, ...]) -> None:
    kernel = tilesat.compile(chain(5000, element, forms))
    assert kernel.limits == []
    assert kernel.ptx.count("\n") > 5000


@pytest.mark.parametrize("kernel", ["flash_attention", "layernorm", "vecadd_ptr"])
def test_where_the_stack_would_end_nothing_changes(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tilesat.compile(f"examples/{kernel}.mlir", "sm_80").ptx
    monkeypatch.setattr("lowering.convert.tileas_to_nvgpu.emitter.DEEPEST", 3)
    assert tilesat.compile(f"examples/{kernel}.mlir", "sm_80").ptx == whole
