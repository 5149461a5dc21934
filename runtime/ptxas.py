"""Assembling PTX with NVIDIA's ptxas, and parsing its output: resources, advisories, located errors.

ptxas comes with the package `nvidia-cuda-nvcc` (pip install --no-deps nvidia-cuda-nvcc) and needs no GPU; nvdisasm with
`nvidia-cuda-nvdisasm`. A spill or an advisory (C75xx) leaves ptxas with exit status 0, so `Cubin` carries them.
"""

import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Where the wheels of CUDA 13 put their programs, below site-packages.
_WHEEL_FOLDER = Path("nvidia") / "cu13" / "bin"
_PACKAGES = {"ptxas": "nvidia-cuda-nvcc", "fatbinary": "nvidia-cuda-nvcc", "nvdisasm": "nvidia-cuda-nvdisasm"}
# Far beyond the 0.3 s that the largest known kernels take; only to end a hung process.
_TIMEOUT_SECONDS = 300

_LOCATED = re.compile(r"^ptxas\s+(?:.*?,\s*)?line\s+(\d+)\s*;\s*(error|fatal|warning|info)\s*:\s*(.*)$")
_PLAIN = re.compile(r"^ptxas\s+(error|fatal|warning|info)\s*:\s*(.*)$")
_MENTIONED_LINE = re.compile(r"\bat line (\d+)\b")
_COMPILING = re.compile(r"Compiling entry function '([^']+)'")
_REGISTERS = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SHARED = re.compile(r"(\d+) bytes smem")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_ABORTED = "Ptx assembly aborted due to errors"


class PtxasNotFoundError(RuntimeError):
    """ptxas, fatbinary or nvdisasm is not installed; the message says how to get it."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One diagnostic of ptxas: PTX line from 1 (0 if none), that line's text, the message."""

    line: int
    text: str
    message: str

    def __str__(self) -> str:
        return f"PTX line {self.line} `{self.text}`: {self.message}" if self.line else self.message


class PtxasError(RuntimeError):
    """ptxas rejected the PTX, or another program its input."""

    def __init__(self, target: str, diagnostics: Sequence[Diagnostic], program: str = "ptxas") -> None:
        self.target = target
        self.diagnostics = tuple(diagnostics)
        super().__init__(f"{program} for {target}: " + "; ".join(str(diagnostic) for diagnostic in diagnostics))


@dataclass(frozen=True, slots=True)
class Usage:
    """Resources of one entry: registers a thread; bytes of spills, stack and static shared memory; barriers."""

    registers: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    stack: int = 0
    smem: int = 0
    barriers: int = 0


@dataclass(frozen=True, slots=True)
class Cubin:
    """An assembled module.

    entries: usage by entry name; infos: advisories with a code (C75xx), which are not warnings in ptxas; warnings: as
    ptxas gives them. The other properties are maxima over the entries.
    """

    binary: bytes
    target: str
    entries: dict[str, Usage]
    infos: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def registers(self) -> int:
        """Registers a thread."""
        return max((usage.registers for usage in self.entries.values()), default=0)

    @property
    def spill_stores(self) -> int:
        """Bytes of spill stores."""
        return max((usage.spill_stores for usage in self.entries.values()), default=0)

    @property
    def spill_loads(self) -> int:
        """Bytes of spill loads."""
        return max((usage.spill_loads for usage in self.entries.values()), default=0)

    @property
    def stack(self) -> int:
        """Bytes of stack frame."""
        return max((usage.stack for usage in self.entries.values()), default=0)

    @property
    def smem(self) -> int:
        """Bytes of static shared memory."""
        return max((usage.smem for usage in self.entries.values()), default=0)

    @property
    def barriers(self) -> int:
        """CTA barriers."""
        return max((usage.barriers for usage in self.entries.values()), default=0)


@cache
def find(program: str = "ptxas") -> Path:
    """The path of one of the three programs: the installed wheel's, else the one on PATH. Raises PtxasNotFoundError."""
    folder = Path(sysconfig.get_path("purelib")) / _WHEEL_FOLDER
    for candidate in (folder / program, folder / f"{program}.exe"):
        if candidate.is_file():
            return candidate
    on_path = shutil.which(program)
    if on_path is None:
        package = _PACKAGES[program]
        raise PtxasNotFoundError(f"{program} is not installed; get it with `pip install --no-deps {package}`")
    return Path(on_path)


@cache
def version() -> str:
    """The release of ptxas, such as 13.5.37. Raises PtxasNotFoundError."""
    said = subprocess.run([find("ptxas"), "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\bV([\d.]+)", said)
    return found[1] if found else "of unknown release"


def assemble(ptx: str, target: str, options: Sequence[str] = ()) -> Cubin:
    """Assemble PTX text for a target such as "sm_80".

    options: further ptxas options, for instance ("-O1",).
    Raises PtxasError with every located error, PtxasNotFoundError if ptxas is not installed.
    """
    program = find("ptxas")
    with tempfile.TemporaryDirectory(prefix="ptxas-") as folder:
        source, output = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(ptx)
        command = [str(program), "-v", f"-arch={target}", *options, str(source), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
        said = done.stdout + done.stderr
        if done.returncode != 0 or not output.is_file():
            raise PtxasError(target, _diagnostics(said, ptx) or [Diagnostic(0, "", said.strip() or "ptxas failed")])
        binary = output.read_bytes()
    infos, warnings = _remarks(said)
    return Cubin(binary, target, _usage(said), infos, warnings)


def fatbinary(images: Sequence[tuple[Cubin, str]]) -> bytes:
    """A fat binary of cubins and the PTX that each was assembled from, which the driver compiles for later devices.

    The PTX is compressed by LZ4, which every driver reads. Raises PtxasError, PtxasNotFoundError.
    """
    program = find("fatbinary")
    with tempfile.TemporaryDirectory(prefix="fatbinary-") as folder:
        output = Path(folder) / "kernel.fatbin"
        command = [str(program), "-64", "--compress-mode=speed", f"--create={output}"]
        for number, (cubin, ptx) in enumerate(images):
            for kind, content in (("elf", cubin.binary), ("ptx", ptx.encode())):
                part = Path(folder) / f"{number}.{kind}"
                part.write_bytes(content)
                command.append(f"--image3=kind={kind},sm={cubin.target.removeprefix('sm_')},file={part}")
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
        if done.returncode != 0:
            said = (done.stderr + done.stdout).strip() or "fatbinary failed"
            raise PtxasError(", ".join(cubin.target for cubin, _ in images), [Diagnostic(0, "", said)], "fatbinary")
        return output.read_bytes()


def disassemble(cubin: Cubin | bytes, lines: bool = False, encodings: bool = False, ptx_lines: bool = False) -> str:
    """The SASS listing of a cubin; `lines`: with comments that name the source line of what follows, if it was
    assembled with -lineinfo, `ptx_lines`: the line of the PTX; `encodings`: with the bits of each instruction.

    Raises PtxasNotFoundError where nvdisasm is not installed.
    """
    program = find("nvdisasm")
    binary = cubin.binary if isinstance(cubin, Cubin) else cubin
    with tempfile.TemporaryDirectory(prefix="nvdisasm-") as folder:
        source = Path(folder) / "kernel.cubin"
        source.write_bytes(binary)
        wanted = {"-g": lines, "-gp": ptx_lines, "-hex": encodings}
        flags = [flag for flag, given in wanted.items() if given]
        command = [str(program), "-c", *flags, str(source)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
    if done.returncode != 0:
        raise PtxasError("nvdisasm", [Diagnostic(0, "", done.stderr.strip() or "nvdisasm failed")])
    return done.stdout


def _diagnostics(said: str, ptx: str) -> list[Diagnostic]:
    """The errors in what ptxas printed."""
    lines = ptx.splitlines()
    found: list[Diagnostic] = []
    for line in said.splitlines():
        match = _LOCATED.match(line) or _PLAIN.match(line)
        if match is None:
            continue
        kind, message = match.groups()[-2:]
        if kind not in ("error", "fatal") or message.strip() == _ABORTED:
            continue
        mentioned = _MENTIONED_LINE.search(message)
        number = int(match.group(1)) if len(match.groups()) == 3 else int(mentioned.group(1)) if mentioned else 0
        text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
        found.append(Diagnostic(number, text, message.strip()))
    return found


def _remarks(said: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The advisories with a (C75xx) code, and the warnings."""
    infos: list[str] = []
    warnings: list[str] = []
    for line in said.splitlines():
        match = _LOCATED.match(line) or _PLAIN.match(line)
        if match is None:
            continue
        kind, message = match.groups()[-2:]
        if "(C75" in message:
            infos.append(message.strip())
        elif kind == "warning":
            warnings.append(message.strip())
    return tuple(infos), tuple(warnings)


def _usage(said: str) -> dict[str, Usage]:
    """Resources by entry. The frame line of an entry stands before its register line; those of functions do not."""
    entries: dict[str, Usage] = {}
    name: str | None = None
    frame = (0, 0, 0)
    for line in said.splitlines():
        if match := _COMPILING.search(line):
            name, frame = match.group(1), (0, 0, 0)
        elif match := _FRAME.search(line):
            frame = (int(match.group(1)), int(match.group(2)), int(match.group(3)))
        elif (match := _REGISTERS.search(line)) and name is not None:
            entries[name] = Usage(
                registers=int(match.group(1)),
                stack=frame[0],
                spill_stores=frame[1],
                spill_loads=frame[2],
                smem=_first_int(_SHARED, line),
                barriers=_first_int(_BARRIERS, line),
            )
    return entries


def _first_int(pattern: re.Pattern[str], line: str) -> int:
    match = pattern.search(line)
    return int(match.group(1)) if match else 0
