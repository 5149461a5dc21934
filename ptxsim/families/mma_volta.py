"""mma.sync.m8n8k4 of f16: four products at once, each by the eight threads of a quad pair.

Lanes 4p to 4p+3 and 16+4p to 16+4p+3 form pair p. With t = lane%4 and h = lane/16: A by rows: row t+4h, column i; by
columns: row i+4h, column t. B by rows: row t, column i+4h; by columns: row i, column t+4h. f16 accumulators: row t+4h,
column i; f32: row (t mod 2) + (i and 2) + 4h, column (i and 4) + (t and 2) + (i mod 2).
Source: PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type".
"""

import numpy as np

from ptxsim.decode import Decode, Step
from ptxsim.families.matrix import all_members
from ptxsim.machine import WARP
from ptxsim.ptx_types import TYPES, Array

_LANE = np.arange(WARP)[:, None]
_PAIR, _T, _H = _LANE % 16 // 4, _LANE % 4, _LANE // 16


def is_volta(d: Decode) -> bool:
    """Whether an mma is m8n8k4 of f16."""
    return "m8n8k4" in d.instruction.modifiers and "f16" in d.instruction.modifiers


def _operand(d: Decode, number: int) -> list[Array]:
    return [d.value(item, TYPES["b32"]) for item in d.vector(number, (2,))]


def _elements(registers: list[Array]) -> Array:
    """f16 pairs in registers as [warp, lane, element] in float32."""
    pairs = [register.view(np.float16).reshape(-1, WARP, 2) for register in registers]
    return np.concatenate(pairs, axis=2).astype(np.float32)


def _matrix(elements: Array, row: Array, column: Array, shape: tuple[int, int]) -> Array:
    """[warp, pair, row, column] from elements whose positions are arrays over [lane, element]."""
    result = np.zeros((elements.shape[0], 4, *shape), np.float32)
    result[:, np.broadcast_to(_PAIR, row.shape), row, column] = elements
    return result


def _accumulator_places(is_half: bool) -> tuple[Array, Array]:
    i = np.arange(8)[None, :]
    if is_half:
        return _T + 4 * _H + 0 * i, i + 0 * _LANE
    return _T % 2 + (i & 2) + 4 * _H, (i & 4) + (_T & 2) + i % 2


def decode_volta(d: Decode) -> Step:
    """mma.sync.aligned.m8n8k4.{row,col}.{row,col}.D.f16.f16.C."""
    d.need("sync")
    d.need("aligned")
    d.need("m8n8k4")
    layouts = [name for name in d.instruction.modifiers if name in ("row", "col")]
    for name in layouts:
        d.take(name)
    names = [type_.name for type_ in d.types]
    accumulators = ("f16", "f32")
    known = len(names) == 4 and names[1:3] == ["f16", "f16"] and names[0] in accumulators and names[3] in accumulators
    if len(layouts) != 2 or not known or (names[0], names[3]) == ("f16", "f32"):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    all_members(d)
    d.finish(4)
    a, b = _operand(d, 1), _operand(d, 2)
    i = np.arange(4)[None, :]
    one, two = _T + 0 * i, i + 4 * _H
    place_a = (one + 4 * _H, i + 0 * _LANE) if layouts[0] == "row" else (two, one)
    place_b = (one, two) if layouts[1] == "row" else (i + 0 * _LANE, one + 4 * _H)
    half_c, half_d = names[3] == "f16", names[0] == "f16"
    sources = [d.value(item, TYPES["b32"]) for item in d.vector(3, (4 if half_c else 8,))]
    targets = [d.target(item, TYPES["b32"]) for item in d.vector(0, (4 if half_d else 8,))]
    place_c, place_d = _accumulator_places(half_c), _accumulator_places(half_d)
    pairs = np.broadcast_to(_PAIR, (WARP, 8))

    def step(mask: Array | None) -> None:
        rows = _matrix(_elements(a), *place_a, (8, 4))
        columns = _matrix(_elements(b), *place_b, (4, 8))
        if half_c:
            given = _elements(sources)
        else:
            given = np.stack([source.view(np.float32).reshape(-1, WARP) for source in sources], axis=2)
        total = np.matmul(rows, columns) + _matrix(given, *place_c, (8, 8))
        result = total[:, pairs, place_d[0], place_d[1]]  # [warp, lane, element]
        words = np.ascontiguousarray(result.astype(np.float16) if half_d else result).view(np.uint32)
        for number, target in enumerate(targets):
            column = words[:, :, number].reshape(-1)
            if mask is None:
                np.copyto(target, column)
            else:
                np.putmask(target, mask, column)

    return step
