"""The bridge from cuTile Python: from a kernel and its signature to Tile IR bytecode, using the package cuda-tile.

A signature SPEC names the parameters in order, separated by semicolons:

    f16[?,?]            an array of rank 2, rows contiguous, its base on 16 bytes
    f32[?/16,64]        sizes: any, a multiple of 16, exactly 64 (a size that is fixed needs cuTile's convention v2)
    f16[?,?]:[?/8,1]    strides in elements; without them the last is 1 and the others are anything
    f32[?]@128          the base address is a multiple of 128 bytes
    f16[?,?]*           a list of such arrays
    i32                 a scalar
    =128  =0.5  =true   a constant (a parameter annotated ct.Constant)
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager
from inspect import Signature
from io import BytesIO
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Protocol, cast

from ir.core import Location, TileError

if TYPE_CHECKING:
    from typing_extensions import TypeIs

BYTECODE_VERSION = "13.4"
DEFAULT_ALIGNMENT = 16
"""Bytes; what a vector load needs and every allocator gives."""
ELEMENTS = {
    "i1": "bool_", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "tf32": "tfloat32", "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f8E8M0FNU": "float8_e8m0fnu",
    "f4E2M1FN": "float4_e2m1fn",
}  # fmt: skip
"""cuTile's names of element types; u8 to u64 are those whose Python kernel treats them as unsigned."""
_PARAMETER = (
    r"(?P<type>\w+)"
    r"(?:\[(?P<shape>[^\]]*)\](?::\[(?P<strides>[^\]]*)\])?(?:@(?P<base>\d+))?(?P<list>\*?))?"
)
_SIZE = r"\?(?:/(\d+))?|(\d+)"
_USER_ERRORS = (
    ImportError, SyntaxError, NameError, AttributeError, TypeError, ValueError, OSError, RuntimeError, LookupError,
    ArithmeticError, AssertionError,
)  # fmt: skip
"""Errors that running a user's module may raise."""


class KernelSignature(Protocol):
    """A KernelSignature of cuda-tile."""

    @property
    def parameters(self) -> Sequence[object]:
        """A constraint for each parameter."""
        ...


class AnnotatedFunction(Protocol):
    """The Python function of a kernel of cuda-tile, with its parameters and what their annotations say."""

    @property
    def pyfunc(self) -> FunctionType:
        """The function."""
        ...

    @property
    def pysig(self) -> Signature:
        """Its signature."""
        ...

    @property
    def parameter_annotations(self) -> Sequence[object]:
        """An annotation for each parameter."""
        ...


class CuTileKernel(Hashable, Protocol):
    """A kernel of cuda-tile."""

    @property
    def _annotated_function(self) -> AnnotatedFunction: ...

    def replace_hints(self, **hints: object) -> CuTileKernel:
        """The kernel with other hints."""
        ...


def function_of(kernel: CuTileKernel) -> AnnotatedFunction:
    """The Python function of a kernel."""
    return kernel._annotated_function  # pyright: ignore[reportPrivateUsage]


def is_kernel(source: object) -> TypeIs[CuTileKernel]:
    """Whether an object is a cuTile kernel; False without loading cuTile."""
    return type(source).__module__.startswith("cuda.tile") and hasattr(source, "_annotated_function")


def names_kernel(path: Path) -> bool:
    """Whether a command line's FILE is MODULE.py:KERNEL."""
    return re.search(r"\.py:\w+$", str(path)) is not None


def no_kernel(what: str) -> TileError:
    """The error for a signature given without a cuTile kernel."""
    message = f"{what} is not a cuTile kernel, so it takes no signature"
    return TileError(message, hint="leave the signature out, or name a kernel as MODULE.py:KERNEL")


def full_signature(kernel: CuTileKernel, signature: object) -> KernelSignature:
    """The KernelSignature for a SPEC, a list of cuTile's constraints, or one itself. Raises TileError."""
    compilation = cutile_module("cuda.tile.compilation")
    if signature is None:
        raise TileError("a cuTile kernel needs a signature", hint="for example signature='f16[?,?]; f32[?]; i32'")
    if isinstance(signature, str):
        signature = parse_signature(signature)
    if isinstance(signature, compilation.KernelSignature):
        return cast("KernelSignature", signature)
    with _refusals(kernel):
        parameters = list(cast("Iterable[object]", signature))
        _check_count(kernel, parameters, name_of(kernel))
        return under_a_convention(parameters, name_of(kernel))


def export(kernel: CuTileKernel, signature: object, target: str) -> bytes:
    """Bytecode of a cuTile kernel, for a signature as `full_signature` takes it. Raises TileError if cuTile rejects the
    kernel.
    """
    signature, output = full_signature(kernel, signature), BytesIO()
    with _refusals(kernel):
        cutile_module("cuda.tile.compilation").export_kernel(
            kernel,
            [signature],
            output,
            gpu_code=re.sub(r"[af]$", "", target),
            output_format="tileir_bytecode",
            bytecode_version=BYTECODE_VERSION,
        )
    return output.getvalue()


@contextmanager
def _refusals(kernel: CuTileKernel) -> Generator[None]:
    """Turn cuTile's errors about the kernel into located TileErrors."""
    name = name_of(kernel)
    try:
        yield
    except (cutile_module("cuda.tile").TileError, TypeError, ValueError, OSError) as error:  # OSError: no source
        raise TileError(f"cuTile refuses @{name}: {_first_line(error)}", _place(error, name)) from error


def name_of(kernel: CuTileKernel) -> str:
    """The name of a kernel's Python function."""
    function = getattr(function_of(kernel), "pyfunc", kernel)
    return str(getattr(function, "__name__", "kernel"))


def _check_count(kernel: CuTileKernel, given: list[object], name: str) -> None:
    names = list(function_of(kernel).pysig.parameters)
    if len(names) != len(given):
        message = f"@{name} takes {len(names)} parameters ({', '.join(names)}), the signature names {len(given)}"
        raise TileError(message, Location("--sig"))


def under_a_convention(parameters: list[object], name: str) -> KernelSignature:
    """The KernelSignature of an entry called `name`, by the first calling convention that has all of it: the second
    has fixed sizes and tuples. Raises ValueError where none has.
    """
    compilation = cutile_module("cuda.tile.compilation")
    conventions = compilation.CallingConvention
    try:
        return compilation.KernelSignature(parameters, conventions.cutile_python_v1(), symbol=name)
    except ValueError:
        return compilation.KernelSignature(parameters, conventions.cutile_python_v2(), symbol=name)


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip() if lines else type(error).__name__


def _place(error: BaseException, name: str) -> Location:
    """The location of a cuTile error in the kernel's source, if known."""
    place: object = getattr(error, "loc", None)
    line: object = getattr(place, "line", None)
    if isinstance(line, int):
        return Location(str(getattr(place, "filename", name)), line, int(getattr(place, "col", 0)) + 1)
    return Location(f"<cuTile kernel {name}>")


def cutile_module(module: str) -> ModuleType:
    """A module of cuTile. Raises TileError if the package is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f"cuTile kernels need the package cuda-tile: {error}"
        raise TileError(message, hint="pip install cuda-tile") from error


def load_kernel(path: Path) -> CuTileKernel:
    """The kernel that MODULE.py:KERNEL names; the module is run, with its folder first on the search path."""
    file, _, name = str(path).rpartition(":")
    location = Location(file)
    if not Path(file).is_file():
        raise TileError("there is no such file", location, "write MODULE.py:KERNEL")
    import importlib.util

    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None:
        raise TileError("not a Python module", location)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    sys.path.insert(0, str(Path(file).resolve().parent))
    try:
        spec.loader.exec_module(module)
    except _USER_ERRORS as error:
        raise TileError(f"{type(error).__name__}: {_first_line(error)}", _raised(error, file)) from error
    finally:
        sys.path.pop(0)
    found = getattr(module, name, None)
    if not is_kernel(found):
        hint = f"its kernels: {', '.join(_kernels(module)) or 'none'}"
        raise TileError(f"{name!r} is not a cuTile kernel", location, hint)
    return found


def _kernels(module: ModuleType) -> list[str]:
    return [name for name, value in vars(module).items() if is_kernel(value)]


def _raised(error: BaseException, file: str) -> Location:
    """The innermost line of the user's file that an error came through."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return Location(file, error.lineno or 0, error.offset or 0)
    import traceback

    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    return Location(file, frames[-1].lineno or 0, (frames[-1].colno or 0) + 1) if frames else Location(file)


def parse_signature(text: str) -> list[object]:
    """cuTile's constraints for a SPEC. Raises TileError with what was expected."""
    return [_parameter(part.strip()) for part in text.split(";") if part.strip()]


def _wrong(part: str, message: str) -> TileError:
    hint = "write f16[?,?], f32[?/16]:[1]@128, f16[?,?]* (a list), i32 or =128 (a constant), separated by semicolons"
    return TileError(f"signature {part!r}: {message}", Location("--sig"), hint)


def _parameter(part: str) -> object:
    compilation = cutile_module("cuda.tile.compilation")
    if part.startswith("="):
        return compilation.ConstantConstraint(_constant(part))
    match = re.fullmatch(_PARAMETER, part)
    if match is None:
        raise _wrong(part, "is not a parameter")
    if match["type"] not in ELEMENTS:
        raise _wrong(part, f"unknown element type {match['type']!r}; known: {', '.join(ELEMENTS)}")
    element = getattr(cutile_module("cuda.tile"), ELEMENTS[match["type"]])
    if match["shape"] is None:
        return compilation.ScalarConstraint(element)
    array = _array(part, match, element)
    if match["list"]:
        return compilation.ListConstraint(array, alias_groups=(), elements_may_alias=False)
    return array


def _constant(part: str) -> int | float | bool:
    text = part[1:].strip()
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if re.search(r"[.eEn]", text) and not text.startswith("0x") else int(text, 0)
    except ValueError:
        raise _wrong(part, "a constant is a number, true or false") from None


def _array(part: str, match: re.Match[str], element: object) -> object:
    sizes = [_size(part, text) for text in match["shape"].split(",")]
    rank = len(sizes)
    strides = [(1, None)] * (rank - 1) + [(1, 1)]
    if match["strides"] is not None:
        strides = [_size(part, text) for text in match["strides"].split(",")]
        if len(strides) != rank:
            raise _wrong(part, f"{len(strides)} strides for {rank} sizes")
    fixed = tuple(size for _, size in sizes)
    return cutile_module("cuda.tile.compilation").ArrayConstraint(
        element,
        rank,
        index_dtype=cutile_module("cuda.tile").int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=tuple(size for _, size in strides),
        shape_constant=fixed if any(size is not None for size in fixed) else None,
        stride_divisible_by=tuple(factor for factor, _ in strides),
        shape_divisible_by=tuple(factor for factor, _ in sizes),
        base_addr_divisible_by=int(match["base"] or DEFAULT_ALIGNMENT),
    )


def _size(part: str, text: str) -> tuple[int, int | None]:
    """(divisor, the size where it is fixed)."""
    match = re.fullmatch(_SIZE, text.strip())
    if match is None:
        raise _wrong(part, f"{text.strip()!r} is not a size: expected ?, ?/16 or 64")
    if match[2] is not None:
        return 1, int(match[2])
    if match[1] is not None and int(match[1]) < 1:
        raise _wrong(part, "a divisor is at least 1")
    return int(match[1] or 1), None
