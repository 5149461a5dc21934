"""A C header that launches a kernel through the CUDA driver API: its manifests as constants, and a function for each
kernel.

The launch plan is that of `runtime.manifest`, as for `runtime.cuda`; launch.h has the code common to all kernels. C99
and C++11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from runtime.manifest import (
    COUNTER,
    FILLS,
    GRID,
    GRID_LIMITS,
    MOST_ELEMENTS,
    MOST_TILES,
    PADDING_BYTES,
    SHARES,
    SUMS,
    TICKETS,
    Expression,
    Manifest,
    ManifestError,
    Pointer,
    Scalar,
    TensorMapRecord,
)

C_TYPES = {
    "i1": "bool", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "f16": "uint16_t",
    "bf16": "uint16_t", "f8E4M3FN": "uint8_t", "f8E5M2": "uint8_t", "f8E8M0FNU": "uint8_t", "f32": "float",
    "tf32": "float", "f64": "double",
}  # fmt: skip
"""The C type of each element type; for 16-bit and 8-bit floats, of their bits."""
_WORDS = """
alignas alignof and asm auto bitand bitor bool break case catch char class compl const constexpr continue decltype
default delete do double else enum explicit export extern false float for friend goto if inline int long mutable
namespace new noexcept not nullptr operator or private protected public register reinterpret_cast restrict return
short signed sizeof static struct switch template this thread_local throw true try typedef typeid typename union
unsigned using virtual void volatile wchar_t while xor NULL
"""
KEYWORDS = frozenset(_WORDS.split())
"""Of C and C++."""
LOCALS = frozenset(
    ("kernel", "grid_x", "grid_y", "grid_z", "stream", "grid", "status", "maps", "box", "dims", "strides", "counter",
     "parameters", "tickets", "sums")
)  # fmt: skip
"""Other names inside the launch function."""
_BARE = ("CUdeviceptr", "uint16_t", "uint8_t")
"""C types that do not say which element type they hold."""
EXTENTS: dict[str, str] = {name: name.replace(" ", "_") for name in GRID}
_COMMON = Path(__file__).parent / "launch.h"
_CONSTANTS: dict[str, object] = {
    "PADDING_BYTES": PADDING_BYTES,
    "FILL_ZERO": FILLS["zero"],
    "FILL_NAN": FILLS["nan"],
    "MOST_ELEMENTS": MOST_ELEMENTS,
    "MOST_TILES": MOST_TILES,
    **{f"GRID_{axis}": f"{limit}u" for axis, limit in zip("XYZ", GRID_LIMITS, strict=True)},
}


def header(manifests: Sequence[Manifest], name: str, arguments: Sequence[str]) -> str:
    """The header for a kernel that is compiled for one or more targets.

    name: prefix of its functions; arguments: names of the arguments, as far as given. Raises ManifestError if two
    targets have the same architecture, or the targets' arguments differ.
    """
    first, name = manifests[0], identifier(name, frozenset())
    for other in manifests[1:]:
        if signature(other) != signature(first):
            raise ManifestError(f"the arguments for {first.target} and {other.target} differ: make a header for each")
    by_architecture: dict[int, str] = {}
    for each in manifests:
        other = by_architecture.setdefault(architecture(each.target), each.target)
        if other != each.target:
            raise ManifestError(f"{other} and {each.target} have the same architecture: name one of them")
    names = unique(arguments, len(signature(first)))
    return "\n".join([*_head(manifests, name), *_functions(manifests, name, names), "", "#endif", ""])


def architecture(target: str) -> int:
    """90 of sm_90a: major and minor number of the virtual architecture, as CU_FUNC_ATTRIBUTE_PTX_VERSION has it."""
    return int(re.sub(r"\D", "", target))


def signature(manifest: Manifest) -> list[tuple[str, str]]:
    """C type and element type of each argument that a caller gives.

    Raises ManifestError where no parameter says one.
    """
    kinds = {
        each.arg: ("CUdeviceptr" if isinstance(each, Pointer) else C_TYPES[each.dtype], each.dtype)
        for each in manifest.params
        if not isinstance(each, TensorMapRecord) and not each.launch
    }
    lost = [number for number in range(manifest.arguments) if number not in kinds]
    if lost:
        raise ManifestError(f"manifest: argument {lost[0]} is not a parameter, so its type is unknown")
    return [kinds[number] for number in range(manifest.arguments)]


def identifier(name: str, taken: frozenset[str]) -> str:
    """A C identifier similar to this name and not already taken."""
    made = re.sub(r"\W", "_", name, flags=re.ASCII)
    made = f"_{made}" if not made or made[0].isdigit() else made
    while made in taken or made in KEYWORDS:
        made += "_"
    return made


def unique(names: Sequence[str], count: int) -> list[str]:
    """So many different names of C: those given, then arg0, arg1 by number."""
    found: list[str] = []
    for number in range(count):
        wanted = names[number] if number < len(names) else f"arg{number}"
        found.append(identifier(wanted, LOCALS | frozenset(found)))
    return found


def _head(manifests: Sequence[Manifest], name: str) -> Iterator[str]:
    """The part before the functions: the common code, once, and the plans."""
    targets = ", ".join(each.target for each in manifests)
    yield f"/* {manifests[0].entry} for {targets}, compiled by TileSat; link with -lcuda.\n"
    yield "     struct tilesat_kernel kernel;"
    yield f"     {name}_load(&kernel, image);  -- the bytes of a cubin, of a fat binary, or of PTX"
    yield f"     {name}_launch(&kernel, 8, 8, 1, stream, ...);  -- a grid of 8 x 8 tile blocks, the arguments"
    yield f"     {name}_unload(&kernel);\n\n   Each returns the first status that is not CUDA_SUCCESS. */"
    yield f"#ifndef TILESAT_KERNEL_{name}\n#define TILESAT_KERNEL_{name}\n"
    yield "#include <cuda.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n"
    yield "#ifndef TILESAT_LAUNCH_H\n#define TILESAT_LAUNCH_H\n"
    yield from (f"#define TILESAT_{each} {value}" for each, value in _CONSTANTS.items())
    yield f"\n{_COMMON.read_text()}\n#endif /* TILESAT_LAUNCH_H */\n"
    yield f"static const struct tilesat_plan {name}_plans[] = {{"
    for each in manifests:
        flags = each.dependent, each.persistent, COUNTER in each.launched
        given = {p.launch: p.bytes for p in each.params if isinstance(p, Pointer)}
        memory = f"{each.split}, {given.get(SUMS, 0)}, {given.get(SHARES, 0)}"
        yield (
            f'  {{"{each.target}", {architecture(each.target)}, {_braced(each.block)}, {_braced(each.cluster)}, '
            f"{each.dynamic_smem}, {', '.join('true' if flag else 'false' for flag in flags)}, {memory}}},"
        )
    yield "};\n"


def _functions(manifests: Sequence[Manifest], name: str, names: Sequence[str]) -> Iterator[str]:
    entries = {each.entry for each in manifests}
    if len(entries) != 1:
        raise ManifestError(f"the kernels are {' and '.join(sorted(entries))}: make a header for each")
    yield f"static inline CUresult {name}_load(struct tilesat_kernel *kernel, const void *image) {{"
    yield f'  return tilesat_load(kernel, image, "{manifests[0].entry}", {name}_plans, {len(manifests)});\n}}\n'
    yield f"static inline CUresult {name}_unload(struct tilesat_kernel *kernel) {{ return tilesat_unload(kernel); }}\n"
    yield f"static inline CUresult {name}_launch("
    taken = [
        "const struct tilesat_kernel *kernel",
        *(f"unsigned {each}" for each in EXTENTS.values()),
        "CUstream stream",
    ]
    typed = zip(signature(manifests[0]), names, strict=True)
    taken += [f"{kind} {each}" + (f" /* {dtype} */" if kind in _BARE else "") for (kind, dtype), each in typed]
    yield ",\n".join(f"    {each}" for each in taken) + ") {"
    yield "  const unsigned grid[3] = {grid_x, grid_y, grid_z};\n  switch (kernel->plan->architecture) {"
    for each in manifests:
        yield f"  case {architecture(each.target)}: {{"
        yield from (f"    {line}" for line in _launch(each, names))
        yield "  }"
    yield "  default:\n    return CUDA_ERROR_NO_BINARY_FOR_GPU;\n  }\n}"


def _launch(manifest: Manifest, names: Sequence[str]) -> Iterator[str]:
    """The launch for one target: tensor maps, addresses of the parameters, the launch itself."""
    maps = [each for each in manifest.params if isinstance(each, TensorMapRecord)]
    if maps:
        yield "CUresult status = CUDA_SUCCESS;"
        yield f"CUtensorMap maps[{len(maps)}];"
    for number, record in enumerate(maps):
        yield from _encode(record, number, names)
    if maps:
        yield "if (status) return status;"
    if COUNTER in manifest.launched:
        yield "CUdeviceptr counter = tilesat_counter(kernel);"
    in_parts = TICKETS in manifest.launched
    if in_parts:
        yield "CUdeviceptr tickets = 0, sums = 0;"
        yield ("" if maps else "CUresult ") + "status = tilesat_parts(kernel, grid, stream, &tickets, &sums);"
        yield "if (status) return status;"
    places: list[str] = []
    for each in manifest.params:
        if isinstance(each, TensorMapRecord):
            places.append(f"maps[{sum(place.startswith('maps') for place in places)}]")
        else:
            places.append(_launched(each) if each.launch else names[each.arg])
    listed = ", ".join(f"(void *)&{place}" for place in places)
    yield f"void *parameters[] = {{{listed or 'NULL'}}};"
    if in_parts:
        yield "status = tilesat_launch(kernel, grid, stream, parameters);"
        yield "const CUresult freed = cuMemFreeAsync(tickets, stream);"
        yield "return status ? status : freed;"
    else:
        yield "return tilesat_launch(kernel, grid, stream, parameters);"


def _launched(parameter: Pointer | Scalar) -> str:
    """Values that the launcher passes itself."""
    names = {COUNTER: "counter", SHARES: "sums", **EXTENTS}
    return names.get(parameter.launch, parameter.launch)


def _encode(record: TensorMapRecord, number: int, names: Sequence[str]) -> Iterator[str]:
    dims = [_expression(each, names) for each in record.global_dim]
    strides = [_expression(each, names) for each in record.global_strides] or ["0"]
    fields = [*record.members, str(len(dims)), _braced(record.box), _braced(record.element_strides)]
    yield "{"
    yield f"  const struct tilesat_box box = {_braced(fields)};"
    yield f"  const int64_t dims[] = {_braced(dims)}, strides[] = {_braced(strides)};"
    base = _expression(record.base, names)
    yield f"  if (!status) status = tilesat_encode(kernel, &maps[{number}], &box, {base}, dims, strides);"
    yield "}"


def _expression(expression: Expression, names: Sequence[str]) -> str:
    """An expression of the manifest in C, in 64 bits."""
    ((kind, value),) = expression.items()
    if isinstance(value, int):
        return f"(int64_t){names[value]}" if kind == "arg" else f"INT64_C({value})"
    parts = [_expression(part, names) for part in value]
    if kind == "ceildiv":
        return f"tilesat_ceildiv({parts[0]}, {parts[1]}, &status)"
    return f"({(' * ' if kind == 'mul' else ' + ').join(parts)})"


def _braced(values: Sequence[object]) -> str:
    return f"{{{', '.join(map(str, values))}}}"
