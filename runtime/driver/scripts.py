"""What Triton and numba-cuda need so that PTX, and not machine code, reaches the driver."""

from __future__ import annotations

from pathlib import Path

_ASSEMBLER = "ptxas"
# Triton asks for the version, then runs `ptxas [options] FILE.ptx -o FILE.o` and loads what comes out. The driver
# takes PTX text in its place.
_SCRIPT = """#!/bin/sh
# Made by tilesat: passes PTX to the simulated driver instead of assembling it.
input= output= before=
for argument; do
  case "$before" in -o|--output-file) output=$argument ;; esac
  case "$argument" in
    --version|-V) echo "Cuda compilation tools, release 13.0, V13.0.88"; exit 0 ;;
    *.ptx) input=$argument ;;
  esac
  before=$argument
done
if [ -z "$input" ] || [ -z "$output" ]; then echo "ptxas of tilesat: expected FILE.ptx and -o FILE" >&2; exit 1; fi
exec cp -- "$input" "$output"
"""


def assembler(library: Path) -> Path:
    """The stand-in for ptxas, written beside the library where it is not there yet."""
    path = library / _ASSEMBLER
    if not path.exists():
        temporary = path.with_suffix(".new")
        temporary.write_text(_SCRIPT)
        temporary.chmod(0o755)
        temporary.replace(path)
    return path


def script_environment(library: Path, shim: Path) -> dict[str, str]:
    """Variables that Triton and numba-cuda read.

    Triton's cache is one of our own: what it keeps there as machine code is PTX.
    """
    return {
        "TRITON_LIBCUDA_PATH": str(library),
        "TRITON_PTXAS_PATH": str(shim),
        "TRITON_PTXAS_BLACKWELL_PATH": str(shim),
        "TRITON_CACHE_DIR": str(library / "triton"),
        "NUMBA_CUDA_DRIVER": str(library / "libcuda.so.1"),
    }
