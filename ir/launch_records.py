"""The launch manifest as data: what a kernel's PTX parameters take, and expressions in the arguments of its entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypeAlias, TypedDict

Expression: TypeAlias = "Mapping[str, int | Sequence[Expression]]"
"""{"arg": number of an argument}, {"const": number}, {"mul": [..]}, {"add": [..]}, {"ceildiv": [dividend, divisor]}."""


class PointerRecord(TypedDict):
    """A parameter that takes an address; `launch`: of memory that the launcher provides, `bytes` of it for each tile
    block, which `ctas` CTAs divide.
    """

    kind: Literal["pointer"]
    arg: int
    dtype: str
    launch: NotRequired[str]
    bytes: NotRequired[int]
    ctas: NotRequired[int]


class ScalarRecord(TypedDict):
    """A parameter that takes a number; `launch`: one that the launcher provides."""

    kind: Literal["scalar"]
    arg: int
    dtype: str
    launch: NotRequired[str]


class TensorMapRecord(TypedDict):
    """A parameter that takes a tensor map: dimensions innermost first, strides in bytes without the innermost."""

    kind: Literal["tensormap"]
    dtype: str
    base: Expression
    global_dim: Sequence[Expression]
    global_strides: Sequence[Expression]
    box: Sequence[int]
    element_strides: Sequence[int]
    swizzle: str
    interleave: str
    l2_promotion: str
    oob_fill: str


ParameterRecord: TypeAlias = PointerRecord | ScalarRecord | TensorMapRecord


class LaunchManifest(TypedDict):
    """All that a launcher needs beside the PTX; JSON-ready. block: threads; cluster: CTAs; dynamic_smem: bytes."""

    entry: str
    name: str
    target: str
    block: list[int]
    cluster: list[int]
    dynamic_smem: int
    global_scratch: int
    params: list[ParameterRecord]
    dependent: NotRequired[bool]
