"""The cuTile kernels on random data: exported by the cuda-tile package where it is installed, else as frozen here."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from tests.programs.program import Program, add

FROZEN = Path(__file__).resolve().parents[1] / "data" / "programs"
VERSION = "13.3"


@cache
def kernels() -> dict[str, Any]:
    """The kernels by name. Their path is relative where it can be: it is recorded in the bytecode."""
    path = Path(__file__).with_name("kernels.py")
    root = Path.cwd()
    return runpy.run_path(str(path.relative_to(root) if path.is_relative_to(root) else path))


def export(kernel: str, values: list[Any]) -> bytes:
    """Bytecode of a kernel for arguments like these: arrays, numbers, and constants given as one-element tuples."""
    import cuda.tile as ct
    from cuda.tile.compilation import (
        ArrayConstraint,
        CallingConvention,
        ConstantConstraint,
        KernelSignature,
        ScalarConstraint,
        export_kernel,
    )

    parameters: list[Any] = []
    for value in values:
        if isinstance(value, np.ndarray):
            unit = max(1, 16 // value.itemsize)
            strides = [s // value.itemsize for s in value.strides[:-1]]
            aligned = tuple(unit if s % unit == 0 else 1 for s in strides)
            parameters.append(
                ArrayConstraint(
                    getattr(ct, value.dtype.name),
                    value.ndim,
                    index_dtype=ct.int32,
                    stride_lower_bound_incl=0,
                    alias_groups=(),
                    may_alias_internally=False,
                    stride_constant=(None,) * (value.ndim - 1) + (1,),
                    stride_divisible_by=(*aligned, 1),
                    base_addr_divisible_by=16,
                    shape_divisible_by=tuple(16 if n % 16 == 0 else 1 for n in value.shape),
                )
            )
        elif isinstance(value, tuple):
            parameters.append(ConstantConstraint(value[0]))
        else:
            parameters.append(ScalarConstraint(ct.float32 if isinstance(value, float) else ct.int32))
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v1(), symbol=kernel)
    output = BytesIO()
    export_kernel(
        kernels()[kernel],
        [signature],
        output,
        gpu_code="sm_80",
        output_format="tileir_bytecode",
        bytecode_version=VERSION,
    )
    return output.getvalue()


def source(name: str, kernel: str, values: Callable[[], list[Any]]) -> bytes:
    """The bytecode: fresh, or the frozen file of this program."""
    if find_spec("cuda") is None or find_spec("cuda.tile") is None:
        return (FROZEN / f"{name}.tileirbc").read_bytes()
    return export(kernel, values())


VALUES: dict[str, tuple[str, Callable[[], list[Any]]]] = {}
"""Kernel and arguments of each program of this module, to freeze them."""


def kernel(
    name: str,
    values: Callable[[], list[Any]],
    grid: tuple[int, ...],
    expected: Callable[..., dict[int, Any]],
    tolerance: float,
    kernel: str = "",
) -> None:
    """`values()`: the arguments as the cuTile kernel takes them, constants as one-element tuples; `expected` maps
    them to {position among them: array}.
    """
    kernel = kernel or name
    VALUES[name] = (kernel, values)

    def arguments() -> list[Any]:
        given: list[Any] = []
        for value in values():
            if isinstance(value, np.ndarray):
                given += [value, *value.shape, *(s // value.itemsize for s in value.strides)]
            elif not isinstance(value, tuple):
                given.append(value)
        return given

    def numpy_says(*_: Any) -> dict[int, Any]:
        plain = values()
        places = np.cumsum(
            [0, *(1 + 2 * v.ndim if isinstance(v, np.ndarray) else not isinstance(v, tuple) for v in plain)]
        )
        wanted = expected(*(v[0] if isinstance(v, tuple) else v for v in plain))
        return {int(places[k]): np.asarray(array).astype(plain[k].dtype) for k, array in wanted.items()}

    add(Program(f"cutile-{name}", lambda: source(name, kernel, values), arguments, grid, numpy_says, tolerance))


def wide(*arrays: Any) -> Any:
    found = [a.astype(np.float64) for a in arrays]
    return found if len(found) > 1 else found[0]


def freeze() -> None:
    """Write the bytecode of every program to the folder of frozen ones; run it from the root of the repository."""
    import cuda.tile as ct

    from tests.programs import cutile_cases, cutile_others

    assert cutile_cases
    assert cutile_others
    FROZEN.mkdir(exist_ok=True)
    packages = f"{Path(ct.__file__).parents[2]}/".encode()
    nowhere = b"./" * (len(packages) // 2) + b"/" * (len(packages) % 2)  # the same length: the file holds offsets
    for name, (of, values) in VALUES.items():
        (FROZEN / f"{name}.tileirbc").write_bytes(export(of, values()).replace(packages, nowhere))
