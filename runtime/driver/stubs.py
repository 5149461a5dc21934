"""The C source of the library: generated stubs around the hand-written files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from runtime.driver.errors import NAMES
from runtime.driver.functions import SCALARS, Function, Parameter, functions

SOURCES = Path(__file__).parent / "c"
PARTS = ("memory.c", "driver.c", "runtime.c")
"""Files that call the stubs, in the order in which they need each other."""

# Names of functions that are the same to the library as one that is written by hand: no parameter differs but one
# that it ignores.
ALIASES = {
    "cuMemAlloc_v2": "cuMemAlloc",
    "cuMemAllocPitch_v2": "cuMemAllocPitch",
    "cuMemPoolGetAttribute": "cudaMemPoolGetAttribute",
    "cuMemFree_v2": "cuMemFree",
    "cuMemAllocHost_v2": "cuMemAllocHost",
    "cuMemHostRegister_v2": "cuMemHostRegister",
    "cuMemHostGetDevicePointer_v2": "cuMemHostGetDevicePointer",
    "cuMemcpyHtoD_v2": "cuMemcpyHtoD cuMemcpyDtoH cuMemcpyDtoH_v2 cuMemcpyDtoD cuMemcpyDtoD_v2 cuMemcpy",
    "cuMemcpyAsync": "cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2 "
    "cuMemcpyDtoDAsync cuMemcpyDtoDAsync_v2",
    "cuMemcpyPeer": "cuMemcpyPeerAsync",
    "cuMemcpy2D_v2": "cuMemcpy2D cuMemcpy2DUnaligned cuMemcpy2DUnaligned_v2",
    "cuMemcpy2DAsync_v2": "cuMemcpy2DAsync",
    "cuMemsetD8_v2": "cuMemsetD8",
    "cuMemsetD16_v2": "cuMemsetD16",
    "cuMemsetD32_v2": "cuMemsetD32",
    "cuMemsetD2D8_v2": "cuMemsetD2D8 cuMemsetD2D8Async",
    "cuMemsetD2D32_v2": "cuMemsetD2D32 cuMemsetD2D32Async",
    "cuMemGetAddressRange_v2": "cuMemGetAddressRange",
    "cuLinkCreate_v2": "cuLinkCreate",
    "cuLinkAddData_v2": "cuLinkAddData",
    "cudaMemcpy": "cudaMemcpyAsync",
    "cudaMemcpyPeer": "cudaMemcpyPeerAsync",
    "cudaMemcpy2D": "cudaMemcpy2DAsync",
    "cudaMemcpyToSymbol": "cudaMemcpyToSymbolAsync",
    "cudaMemcpyFromSymbol": "cudaMemcpyFromSymbolAsync",
    "cudaMemset": "cudaMemsetAsync",
    "cudaMemset2D": "cudaMemset2DAsync",
    "cudaLaunchKernel": "__cudaLaunchKernel",
    "cudaMemPrefetchAsync": "cuMemPrefetchAsync cuMemPrefetchAsync_v2 cudaMemPrefetchAsync_v2",
    "cudaMemAdvise": "cuMemAdvise cuMemAdvise_v2 cudaMemAdvise_v2",
}
RUNTIME_STUBS = {
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor": (
        "int32_t *blocks, const void *host, int size, uint64_t dynamic",
        "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, size, dynamic, 0)",
    ),
}
_PER_THREAD = ("_ptsz", "_ptds")
"""Suffixes of the forms for per-thread default streams, of which the library knows nothing."""


def source() -> str:
    """One translation unit: transport, stubs, the hand-written files, aliases, and what is refused."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield '#include "transport.c"'
    yield from _errors()
    yield "static void *own_symbol(const char *name);"
    for function in functions():
        yield from _stub(function)
    for part in PARTS:
        yield f'#include "{part}"'
    for name, (parameters, call) in RUNTIME_STUBS.items():
        yield f"EXPORT int {name}({parameters}) {{ return {call}; }}"
    yield from _names()
    yield '#include "interpose.c"'


def _errors() -> Iterator[str]:
    """The names and texts of the status codes; the driver's own names begin with CUDA_ERROR_."""
    yield "static const char *error_name(int status, int runtime) {\n  switch (status) {"
    yield '  case 0: return runtime ? "cudaSuccess" : "CUDA_SUCCESS";'
    for code, driver, runtime, _ in NAMES:
        yield f'  case {code}: return runtime ? "cudaError{runtime}" : "CUDA_ERROR_{driver}";'
    yield "  default: return NULL;\n  }\n}"
    yield "static const char *error_text(int status) {\n  switch (status) {"
    yield '  case 0: return "no error";'
    yield from (f'  case {code}: return "{text}";' for code, _, _, text in NAMES)
    yield "  default: return NULL;\n  }\n}"


def _declared(parameter: Parameter) -> str:
    if parameter.how == "text":
        return f"const char *{parameter.name}"
    if parameter.how in ("in", "fill"):
        return f"{'const ' if parameter.how == 'in' else ''}void *{parameter.name}"
    c_type = SCALARS[parameter.type][0]
    if parameter.how == "skipped":
        return f"{c_type} {parameter.name} UNUSED"
    return f"{c_type} {'*' if parameter.how == 'out' else ''}{parameter.name}"


def _stub(function: Function) -> Iterator[str]:
    first = function.names[0]
    hidden = first.startswith("sim_")
    yield f"{'static' if hidden else 'EXPORT'} int {first}({', '.join(map(_declared, function.parameters))}) {{"
    yield f"  struct call call;\n  begin(&call, {function.number});"
    for parameter in function.parameters:
        name = parameter.name
        if parameter.how == "text":
            yield f"  put_bytes(&call, {name}, {name} ? strlen({name}) : 0);"
        elif parameter.how == "in":
            yield f"  put_bytes(&call, {name}, (uint64_t)({parameter.size}));"
        elif parameter.how == "sent":
            yield f"  put(&call, &{name}, sizeof {name});"
    yield "  int status = exchange(&call);"
    for parameter in function.parameters:
        name = parameter.name
        if parameter.how == "out":
            yield f"  if (!status) take(&call, {name}, sizeof *{name});"
        elif parameter.how == "fill":
            yield f"  take_bytes(&call, {name}, (uint64_t)({parameter.size}));"
    done = "finish(&call, status)"
    yield f"  return {f'note({done})' if first.startswith('cuda') else done};\n}}"
    runtime = [name for name in function.names[1:] if name.startswith("cuda") and not first.startswith("cuda")]
    for name in function.names[1:]:
        if name in runtime:
            given = ", ".join(parameter.name for parameter in function.parameters)
            parameters = ", ".join(map(_declared, function.parameters))
            yield f"EXPORT int {name}({parameters}) {{ return note({first}({given})); }}"
        else:
            yield _alias(name, first)


def _alias(name: str, of: str) -> str:
    return f'EXPORT int {name}() __attribute__((alias("{of}")));'


def _names() -> Iterator[str]:
    """Aliases, and stubs that refuse, for all other names of the two interfaces."""
    defined = {name for function in functions() for name in function.names} | set(RUNTIME_STUBS)
    for part in PARTS:
        for line in (SOURCES / part).read_text().splitlines():
            if line.startswith("EXPORT "):
                defined.add(line.partition("(")[0].split()[-1].lstrip("*"))
    for first, others in ALIASES.items():
        for name in others.split():
            yield _alias(name, first)
            defined.add(name)
    for name in (SOURCES / "names.txt").read_text().split():
        if name in defined:
            continue
        plain = next((name.removesuffix(suffix) for suffix in _PER_THREAD if name.endswith(suffix)), name)
        if plain in defined:
            yield _alias(name, plain)
        else:
            kept = f'sim_refuse("{name}")'
            yield f"EXPORT int {name}() {{ return {f'note({kept})' if name.startswith('cuda') else kept}; }}"
    yield "static void *own_symbol(const char *name) {"
    yield "  static void *self;\n  Dl_info about;"
    yield "  if (!self && dladdr((void *)cuInit, &about)) self = dlopen(about.dli_fname, RTLD_NOW | RTLD_NOLOAD);"
    yield "  return self ? dlsym(self, name) : NULL;\n}"
