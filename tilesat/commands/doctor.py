"""`tilesat doctor`: what is installed, and what cannot be done without the rest."""

from __future__ import annotations

import argparse
import ctypes
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

from tilesat.cli import FAILED, OK

ENGINE = "13.2.0"
"""The egglog release whose bindings egraph/engine.py is written against; its Python API changes between releases."""


@dataclass(frozen=True)
class Finding:
    """One thing looked for: where it is, or what is missing without it."""

    name: str
    found: str | None
    without: str
    required: bool = False

    @property
    def line(self) -> str:
        """For the report."""
        if self.found is not None:
            return f"ok       {self.name}: {self.found}"
        return f"{'MISSING' if self.required else 'absent '}  {self.name}: {self.without}"


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each thing; 1 when something that every compile needs is missing."""
    findings = [check() for check in CHECKS]
    for finding in findings:
        print(finding.line)
    return FAILED if any(finding.required and finding.found is None for finding in findings) else OK


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", version if sys.version_info >= (3, 11) else None, f"3.11 or newer, not {version}", True)


def _engine() -> Finding:
    installed = _version("egglog")
    hint = f"pip install egglog=={ENGINE}" + (f" (installed: {installed})" if installed else "")
    return Finding("egglog", installed if installed == ENGINE else None, hint, True)


def _numpy() -> Finding:
    return Finding("numpy", _version("numpy"), "pip install numpy", True)


def _highspy() -> Finding:
    return Finding("highspy", _version("highspy"), "no --extractor ilp; pip install highspy")


def _ptxas() -> Finding:
    return _program("ptxas", "no cubin, no register counts; pip install --no-deps nvidia-cuda-nvcc")


def _nvdisasm() -> Finding:
    return _program("nvdisasm", "no --emit sass; pip install --no-deps nvidia-cuda-nvdisasm")


def _program(name: str, without: str) -> Finding:
    from runtime.ptxas import PtxasNotFoundError, find

    try:
        return Finding(name, str(find(name)), without)
    except PtxasNotFoundError:
        return Finding(name, None, without)


def _cutile() -> Finding:
    return Finding("cuda-tile", _version("cuda-tile"), "no export from cuTile sources; pip install cuda-tile")


def _dot() -> Finding:
    return Finding("dot", shutil.which("dot"), "--viz writes DOT only; install graphviz for SVG")


def _driver() -> Finding:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Finding("CUDA driver", None, "no GPU here; kernels run on the simulator (--on sim)")
    return Finding("CUDA driver", "libcuda.so.1", "")


def _compiler() -> Finding:
    from runtime.driver.build import compiler

    command = compiler()
    found = None if command is None else " ".join(command)
    return Finding("C compiler", found, "no `tilesat sanitize`; install gcc, or set CC")


def _bindings() -> Finding:
    return Finding("cuda-bindings", _version("cuda-bindings"), "no --on cuda; pip install cuda-bindings")


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


CHECKS: tuple[Callable[[], Finding], ...] = (
    _python, _engine, _numpy, _highspy, _ptxas, _nvdisasm, _cutile, _dot, _driver, _bindings, _compiler,
)  # fmt: skip
