"""A drop-in for NVIDIA's `tileiras`: Tile IR bytecode to a cubin, by this compiler and ptxas.

cuTile looks for a program called `tileiras` (see docs/command-line.md); it reads the exit code and lines of standard
error. Source of options and codes: cuda-tile 1.7.0 and nvidia-cuda-tileiras 13.4 and 13.5.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from tilesat.remarks import CATEGORIES, FORMATS, KINDS, Wanted

if TYPE_CHECKING:
    from ir.core import TileError
    from ir.dialects.cuda_tile import Entry, Module
    from runtime.ptxas import Cubin
    from tilesat.kernel import Kernel

OK, WRONG_USE, NOT_READ, NOT_COMPILED = 0, 1, 3, 5
"""Exit codes of tileiras 13.4: 1 a bad option or no input, 3 not bytecode of a version it reads, 5 not compiled."""
DESCRIPTION = "tilesat-tileiras 0.1.1, Tile IR bytecode 13.1 to 13.5"
"""Part of cuTile's disk-cache key: change it where the same bytecode gives another cubin."""
READ_VERSIONS = ("13.1", "13.2", "13.3", "13.4", "13.5")
DEFAULT_GPU = "sm_100"
TARGETS = {
    "sm_80": "sm_80", "sm_86": "sm_86", "sm_87": "sm_86", "sm_88": "sm_86", "sm_89": "sm_89", "sm_90": "sm_90a",
    "sm_100": "sm_100a", "sm_103": "sm_103a", "sm_110": "sm_110a", "sm_120": "sm_120a", "sm_121": "sm_121a",
}  # fmt: skip
"""Which target compiles for a GPU: its own features (`a`) from Hopper on, as tileiras does; a cubin of 8.6 runs on 8.7
and 8.8."""
NO_TARGET = ("sm_107",)
"""GPUs that tileiras knows and this compiler has no target for."""
FEATURES = ("simt",)
"""Preview features of tileiras 13.5."""
_EMPTY = ".version {}.{}\n.target {}\n.address_size 64\n"
_FILE = re.compile(r"^\.file (\d+) (\".*\")$", re.MULTILINE)
_LOC = re.compile(r"^( *\.loc |\.file )(\d+)", re.MULTILINE)
_PTX_HEADER = re.compile(r"^\.(version|target|address_size)\b.*\n", re.MULTILINE)
HELP = """usage: tilesat-tileiras FILE -o OUT --gpu-name sm_XY [options]

  -o, --output-file OUT       where the cubin goes (default elf.o)
  --gpu-name, --arch GPU      {gpus} (default {default})
  -O, --opt-level N           0 to 3 (default 3), passed to ptxas
  --lineinfo                  source lines of the instructions
  --device-debug, -g          no optimisation by ptxas
  --preview FEATURE[,...]     read bytecode with preview content; features: simt
  --remarks CATEGORY          none, all, memory or tensorcore; also --remarks-passed, -missed, -failed, -analysis
  --remark-format FORMAT      command-line (the default) or yaml
  --remarks-output-file FILE  where yaml goes (default tileir_remarks.yaml)
  --host-arch, --host-os X    accepted: a cubin is the same for every host
  --version, --list-versions, --help
Not supported: -l (tile libraries), --sanitize, --apply-controls.
"""


class UsageError(Exception):
    """A command line that is wrong."""


@dataclass
class Arguments:
    """What the command line asks for."""

    source: Path | None = None
    output: Path = Path("elf.o")
    gpu: str = DEFAULT_GPU
    level: str = "3"
    lineinfo: bool = False
    debug: bool = False
    preview: bool = False
    libraries: list[str] = field(default_factory=list[str])
    remarks: Wanted = field(default_factory=Wanted)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    answers = {
        "--version": DESCRIPTION,
        "--list-versions": "\n".join(READ_VERSIONS),
        "--help": HELP.format(gpus=", ".join(TARGETS), default=DEFAULT_GPU),
    }
    asked = next((word for word in given if word in answers), "--help" if "-h" in given else "")
    if asked:
        print(answers[asked])
        return OK
    try:
        arguments = parse_arguments(given)
        if arguments.source is None:
            raise UsageError("no input file")
        data = arguments.source.read_bytes()
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_USE
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror or error}", file=sys.stderr)
        return WRONG_USE
    return _assemble(data, arguments)


def parse_arguments(given: Sequence[str]) -> Arguments:
    """Read the options, `--name value` or `--name=value`, with one dash or two. Raises UsageError."""
    found = Arguments()
    rest = iter(given)
    for word in rest:
        name, equals, value = word.partition("=")
        name = f"-{name}" if name.startswith("-") and not name.startswith("--") and len(name) > 2 else name
        if re.fullmatch(r"--O[0-3]", name) and not equals:
            found.level = name[-1]
        elif name in _FLAGS:
            if equals:
                raise UsageError(f"{name} takes no value")
            setattr(found, _FLAGS[name], True)
        elif name in _VALUED:
            text = value if equals else next(rest, None)
            if text is None:
                raise UsageError(f"{name} needs a value")
            _VALUED[name](found, name, text)
        elif word.startswith("-") and word != "-":
            raise UsageError(f"unknown option '{word}'; --help lists them")
        elif found.source is not None:
            raise UsageError(f"more than one input file: '{word}'")
        else:
            found.source = Path(word)
    if found.libraries:
        _refuse_libraries(found)
    return found


def _refuse_libraries(found: Arguments) -> NoReturn:
    if not found.preview:
        raise UsageError("-l needs the SIMT preview: pass --preview=simt")
    raise UsageError(f"linking '{found.libraries[0]}' is not supported: write the kernel without foreign functions")


def _one_of(name: str, text: str, allowed: Sequence[str]) -> str:
    if text not in allowed:
        raise UsageError(f"{name} cannot be '{text}', it is one of {', '.join(allowed)}")
    return text


def _output(found: Arguments, name: str, text: str) -> None:
    found.output = Path(text)


def _gpu(found: Arguments, name: str, text: str) -> None:
    if text in NO_TARGET:
        raise UsageError(f"no target for '{text}' yet; known: {', '.join(TARGETS)}")
    if text not in TARGETS:
        raise UsageError(f"unknown GPU '{text}'; known: {', '.join(TARGETS)}")
    found.gpu = text


def _level(found: Arguments, name: str, text: str) -> None:
    found.level = _one_of(name, text, ("0", "1", "2", "3"))


def _preview(found: Arguments, name: str, text: str) -> None:
    for feature in text.split(","):
        _one_of(name, feature, FEATURES)
    found.preview = True


def _library(found: Arguments, name: str, text: str) -> None:
    found.libraries.append(text)


def _category(found: Arguments, name: str, text: str) -> None:
    kind = name.removeprefix("--remarks").removeprefix("-")
    found.remarks.choose((kind,) if kind else KINDS, _one_of(name, text, CATEGORIES))


def _format(found: Arguments, name: str, text: str) -> None:
    found.remarks.format = _one_of(name, text, FORMATS)


def _remarks_file(found: Arguments, name: str, text: str) -> None:
    found.remarks.output = Path(text)


def _host(found: Arguments, name: str, text: str) -> None:
    _one_of(name, text, ("x86_64", "aarch64") if name == "--host-arch" else ("linux", "windows"))


def _refused(found: Arguments, name: str, text: str) -> None:
    raise UsageError(f"{name} is not supported: this compiler has no equivalent")


_FLAGS = {"--lineinfo": "lineinfo", "--device-debug": "debug", "-g": "debug"}
_VALUED: dict[str, Callable[[Arguments, str, str], None]] = {
    "-o": _output, "--output-file": _output, "--gpu-name": _gpu, "--arch": _gpu, "-O": _level, "--opt-level": _level,
    "-l": _library, "--preview": _preview, "--remarks": _category, "--remark-format": _format,
    "--remarks-output-file": _remarks_file, "--host-arch": _host, "--host-os": _host, "--sanitize": _refused,
    "--apply-controls": _refused, **{f"--remarks-{kind}": _category for kind in KINDS},
}  # fmt: skip


def _assemble(data: bytes, arguments: Arguments) -> int:
    """Read, compile, write; each failure is reported as tileiras reports it."""
    from ir.bytecode import BytecodeError, read_bytecode
    from ir.bytecode.container import announces_preview
    from ir.core import TileError, UnsupportedError, verify
    from tilesat.failures import describe, user_errors

    if announces_preview(data) and not arguments.preview:
        print("error: the bytecode has preview content, which --preview=simt allows", file=sys.stderr)
        return NOT_READ
    try:
        module = read_bytecode(data, str(arguments.source))
        verify(module)
    except (BytecodeError, UnsupportedError) as error:
        return _failed(error, NOT_READ)
    except TileError as error:
        return _failed(error, NOT_COMPILED)
    try:
        kernels, cubin = _cubin(module, arguments)
    except TileError as error:
        return _failed(error, NOT_COMPILED)
    except user_errors() as error:
        print(f"error: {describe(error)}\nerror: failed to compile Tile IR program", file=sys.stderr)
        return NOT_COMPILED
    try:
        arguments.output.write_bytes(cubin.binary)
        arguments.remarks.tell(kernels, cubin)
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror or error}", file=sys.stderr)
        return WRONG_USE
    warn(kernels)
    return OK


def warn(kernels: list[Kernel]) -> None:
    """Hints without effect, products off the tensor cores, limits that ended something: as `tilesat compile` warns."""
    for kernel in kernels:
        for warning in (*kernel.ignored_hints, *kernel.scalar_products):
            _tell(warning, "warning")
        for limit in kernel.limits:
            print(f"warning: {limit}", file=sys.stderr)


def _tell(error: TileError, kind: str) -> None:
    """One line with the place where it is known, then what to do.

    tileiras wraps a place as here. A bare `loc(...)` cuTile 1.7.0 would read as a place of no function, and then fail
    to print its own exception.
    """
    place = error.location
    where = f'#cuda_tile.di_loc<loc("{place.file}":{place.line}:{place.column})>: ' if place.line else ""
    print(f"{where}{kind}: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"note: {error.hint}", file=sys.stderr)


def _failed(error: TileError, code: int) -> int:
    """Report an error, and that no cubin was written; returns the exit code."""
    _tell(error, "error")
    if code == NOT_COMPILED:
        print("error: failed to compile Tile IR program", file=sys.stderr)
    return code


def joined(texts: list[str]) -> str:
    """Kernels of one module in one PTX file: its header once, and each array of the module once; source files by the
    same number in all of them.
    """
    seen: set[str] = set()
    lines: list[str] = []
    files: dict[str, int] = {}
    for number, text in enumerate(texts):
        own = {here: files.setdefault(name, len(files) + 1) for here, name in _FILE.findall(text)}
        text = _LOC.sub(lambda found: f"{found[1]}{own[found[2]]}", text)  # noqa: B023 (used at once)
        for line in (_PTX_HEADER.sub("", text) if number else text).splitlines(keepends=True):
            if not line.startswith((".global ", ".extern ", ".file ")) or line not in seen:
                lines.append(line)
                seen.add(line)
    return "".join(lines)


def has_wide_arrays(entry: Entry) -> bool:
    """May an array have more elements along a dimension than the coordinates of tensor copies, which are i32, reach?
    Where the host makes the maps it looks at that; a kernel cannot refuse its arguments.
    """
    from ir.dialects.cuda_tile import MakeTensorView
    from ir.types import IntType, TensorViewType, TileType
    from runtime.manifest import MOST_ELEMENTS

    for op in entry.walk():
        if isinstance(op, MakeTensorView) and isinstance(op.result.type, TensorViewType):
            kinds = [each.type.element for each in op.dynamic_shape if isinstance(each.type, TileType)]
            if any(isinstance(each, IntType) and each.width > 32 for each in kinds):
                return True
            if any((each or 0) > MOST_ELEMENTS for each in op.result.type.shape):
                return True
    return False


def _cubin(module: Module, arguments: Arguments) -> tuple[list[Kernel], Cubin]:
    """Every entry in one cubin; parameters are the entry's own, so kernels make their tensor maps themselves."""
    from lowering.pipeline import Options
    from lowering.targets import ALL_TARGETS
    from runtime.ptxas import assemble
    from tilesat.compiler import compile_module

    target = TARGETS[arguments.gpu]
    kernels: list[Kernel] = []
    for entry in module.entries:
        forbid = frozenset(("tma",) if has_wide_arrays(entry) else ())
        options = Options(forbid=forbid, lineinfo=arguments.lineinfo, own_maps=True)
        kernels += compile_module(module, entry, [target], options, {})
    texts = [kernel.ptx for kernel in kernels]
    header = _EMPTY.format(*ALL_TARGETS[target].ptx_version, target)
    ptx = joined(texts) if texts else header
    flags = [f"-O{0 if arguments.debug else arguments.level}", *(["-lineinfo"] if arguments.lineinfo else [])]
    return kernels, assemble(ptx, target, flags)


if __name__ == "__main__":
    sys.exit(main())
