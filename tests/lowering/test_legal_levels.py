"""What a kernel of a level may hold: an operation out of its place is an error there, never a traceback."""

from __future__ import annotations

from functools import cache

import pytest

from ir.core import OPS, Op, Operand, TileError
from ir.load import load
from lowering.passes.manager import run
from lowering.passes.syntax import parse, until
from lowering.passes.table import ROAD
from tests.tilesat.example_cases import EXAMPLES
from tilesat import compile, lower

LEVELS = ("placed", "pipelined", "nv_tileas", "nvgpu", "nvvm")


@cache
def texts(example: str, target: str = "sm_90a") -> dict[str, str]:
    """The kernel at each level that is lowered."""
    path = EXAMPLES / f"{example}.mlir"
    (placed,) = run(until(parse(ROAD), "decode"), load(path).entries[0], [target])
    (pipelined,) = run(until(parse(ROAD), "tileas-materialize-schedule"), load(path).entries[0], [target])
    return {"placed": placed.text(), "pipelined": pipelined.text(), **compile(path, target).stages}


VECADD, GEMM = "vecadd_ptr", "gemm"
ENDED = dict.fromkeys(LEVELS, "nv_tileas.return") | {"nvgpu": "gpu.return", "nvvm": "llvm.return"}


def with_line(level: str, name: str, text: str) -> str:
    """An operation that takes and gives nothing, before the return."""
    at = text.rindex('"', 0, text.rindex(f'{ENDED[level].partition(".")[2]}"()'))
    return f'{text[:at]}"{name}"() : () -> ()\n  {text[at:]}'


def plain(kind: type[Op]) -> bool:
    """Can it be written without operands, attributes, regions and results?"""
    info = kind.info
    needs = any(isinstance(each, Operand) for each in info.operands) or any(each.required for each in info.attributes)
    return not (needs or info.regions or info.results or info.name.startswith("cuda_tile."))


@pytest.mark.in_turn
@pytest.mark.parametrize("level", LEVELS)
def test_any_operation_anywhere(level: str) -> None:
    """Each is compiled or refused at its place."""
    kinds = [name for name, kind in OPS.items() if plain(kind)]
    assert len(kinds) > 15
    refused: list[TileError] = []
    for name in kinds:
        try:
            lower(with_line(level, name, texts(VECADD)[level]))
        except TileError as error:
            refused.append(error)
    assert 5 < len(refused) < len(kinds)
    assert all(error.location.line > 0 for error in refused)


@pytest.mark.parametrize(
    ("level", "name", "message", "hint"),
    [
        ("nv_tileas", "gpu.barrier", "'gpu.barrier' is not legal in nv_tileas",
         "nv_tileas holds operations of arith, math, nv_tileas, scf"),
        ("nvgpu", "nv_tileas.barrier", "'nv_tileas.barrier' is not legal in nvgpu",
         "nvgpu holds operations of arith, gpu, llvm, math, nvgpu, nvvm, scf, ub, vector"),
        ("nvvm", "gpu.barrier", "'gpu.barrier' is not legal in nvvm", "nvvm holds operations of llvm, nvvm"),
        ("nv_tileas", "scf.yield", "'scf.yield': must end a region in the kernel", ""),
        ("nvgpu", "scf.yield", "'scf.yield': must end a region in the kernel", ""),
        ("nv_tileas", "nv_tileas.return", "'nv_tileas.return': must end the kernel", ""),
        ("nvgpu", "gpu.return", "'gpu.return': must end the kernel", ""),
    ],
)  # fmt: skip
def test_what_is_out_of_place(level: str, name: str, message: str, hint: str) -> None:
    with pytest.raises(TileError) as caught:
        lower(with_line(level, name, texts(VECADD)[level]))
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("level", "before", "after", "name"),
    [
        ("placed", "placed = true, ", "", "nv_tileas.tiled_copy"),
        ("pipelined", "pipelined = true, ", "", "nv_tileas.async.pipeline.create_iterator"),
        ("nv_tileas", "<{", "<{placed = true, ", "nv_tileas.async.pipeline.create_pipeline"),
    ],
)
def test_a_kernel_says_whether_it_is_scheduled(level: str, before: str, after: str, name: str) -> None:
    other = "placed" if level == "nv_tileas" else "nv_tileas"
    with pytest.raises(TileError) as caught:
        lower(texts(GEMM)[level].replace(before, after, 1))
    assert caught.value.message == f"'{name}' is not legal in {other}"
    assert caught.value.hint == ("an unscheduled kernel has placed = true, one with pipelines has pipelined = true")
